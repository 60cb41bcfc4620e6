import { mapping } from "../../manifest/fields.ts";
import type { Reader } from "../../manifest/fields.ts";
import { integer, number, oneOf } from "../../manifest/readers.ts";
import { IDENTITY_SETTINGS } from "../installations/index.ts";
import type { IdentitySettings } from "../installations/index.ts";

const [MINUTE_S, HOUR_S, DAY_S] = [60, 3600, 86_400];
/** Clients wait ten minutes for an approval by default; a code that can be guessed at for days is no secret. */
const CODE_TTL_S = { minimum: MINUTE_S, maximum: DAY_S } as const;
/** Programs beside the agent renew by themselves when less than one hour is left. */
const CREDENTIAL_TTL_S = { minimum: 2 * HOUR_S, maximum: 90 * DAY_S } as const;
const GRACE_S = { minimum: 0, maximum: HOUR_S } as const;
const RECOVERY_WINDOW_S = { minimum: 0, maximum: 3650 * DAY_S } as const;
const RECOVERIES = { minimum: 0, maximum: 100 } as const;
/** Not below two heartbeats of the agent. */
const ONLINE_WINDOW_S = { minimum: 60, maximum: DAY_S } as const;
const MS_PER_S = 1000;

/** Lifetimes of enrolments and of the credentials of robots. */
export const readIdentity: Reader<IdentitySettings> = mapping((fields) => {
  const milliseconds = (key: string, bounds: Parameters<typeof number>[0], standardMs: number): number => {
    const seconds = fields.optional(key, number(bounds));
    return seconds === undefined ? standardMs : Math.round(seconds * MS_PER_S);
  };
  const standard = IDENTITY_SETTINGS;
  return {
    codeTtlMs: milliseconds("code_ttl_s", CODE_TTL_S, standard.codeTtlMs),
    credentialTtlMs: milliseconds("credential_ttl_s", CREDENTIAL_TTL_S, standard.credentialTtlMs),
    graceMs: milliseconds("grace_s", GRACE_S, standard.graceMs),
    recoveryWindowMs: milliseconds("recovery_window_s", RECOVERY_WINDOW_S, standard.recoveryWindowMs),
    recoveries: fields.optional("recoveries", integer(RECOVERIES)) ?? standard.recoveries,
    onlineWindowMs: milliseconds("online_window_s", ONLINE_WINDOW_S, standard.onlineWindowMs),
    copiedKey: fields.optional("copied_key", oneOf("freeze", "warn")) ?? standard.copiedKey,
  };
});
