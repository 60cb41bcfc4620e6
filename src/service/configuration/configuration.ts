/**
 * The service's configuration, a YAML file that an administrator edits (config/service.example.yaml).
 *
 * It is read with the strict reader of the robot manifest, which reports all mistakes at once, each with line and column. The place of the
 * data is optional, because flags can name it too.
 */
import { fail, mapping, type Reader } from "../../documents/fields.ts";
import { defaultsOf, keysReader, readKeys, type ValuesOf, withDefault } from "../../documents/keys.ts";
import { absolutePath, boolean, integer, list, type NumberBounds, oneOf, string } from "../../documents/readers.ts";
import { readSettings, type SettingsReading } from "../../documents/settings.ts";
import { IDENTITY_SETTINGS, type IdentitySettings } from "../installations/index.ts";
import type { TlsFiles } from "../kernel/connections/tls.ts";
import { LOG_LEVELS } from "../kernel/log-level.ts";
import { RATE_LIMITS } from "../kernel/traffic/limits.ts";
import { SERVICE_LIMITS } from "../limits.ts";
import { WEBHOOK_SETTINGS, type WebhookSettings } from "../webhooks/index.ts";
import { type Keep, readKeep } from "./keep.ts";
import { readLimits, readRateLimit, readSeconds } from "./limits.ts";
import { isAddressOrNetwork, isWritten, listenAddress, networks } from "./readers.ts";
import { shown } from "../../documents/shown.ts";

export const CONFIGURATION_LIMIT_BYTES = 1_048_576;
export const AUDIT_RETENTION_DAYS = { minimum: 1, maximum: 36_500, standard: 400 } as const;

/** Names that other services give these keys. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ["port", "write listen: HOST:PORT"],
  ["host", "write listen: HOST:PORT"],
  ["cert", "write cert_file, the path of a PEM file"],
  ["key", "write key_file, the path of a PEM file"],
  ["ssl", "write tls"],
  ["data_directory", "write data"],
  ["database_url", "write database, and url or url_file below it"],
  ["log_level", "write log, and level below it"],
  ["workers", "one process serves; run more of them on one database to scale out"],
]);

const SECRET_ADVICE = ": put it into a file that only the service can read, and name that file";

export function readConfiguration(bytes: Uint8Array): SettingsReading<Configuration> {
  const rules = {
    subject: "configuration",
    sizeLimitBytes: CONFIGURATION_LIMIT_BYTES,
    secretAdvice: SECRET_ADVICE,
    hints: HINTS,
  } as const;
  return readSettings(bytes, rules, readRoot);
}

const readTls: Reader<TlsFiles> = mapping((fields) => {
  const certFile = fields.required("cert_file", absolutePath);
  const keyFile = fields.required("key_file", absolutePath);
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };
});

const LOG = {
  level: withDefault(oneOf(...LOG_LEVELS), "info"),
  /** Log every request at info, not only at debug. */
  requests: withDefault(boolean, false),
};

const readAudit: Reader<number | "off"> = mapping((fields, place) => {
  const forever = fields.optional("keep_forever", boolean) ?? false;
  const days = fields.optional("retention_days", integer(AUDIT_RETENTION_DAYS)) ?? AUDIT_RETENTION_DAYS.standard;
  if (forever && isWritten(place, "retention_days")) {
    fail(place, "conflict", "keep_forever and retention_days are both set; leave one of them out");
  }
  return forever ? "off" : days;
});

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

/** Lifetimes of enrolments and of the credentials of robots. */
const readIdentity: Reader<IdentitySettings> = mapping((fields) => {
  const milliseconds = (key: string, bounds: NumberBounds, standardMs: number) =>
    readSeconds(fields, key, bounds, standardMs);
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

const ALLOWED_MAXIMUM = 256;
const HOST = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,62})(?:\.[a-z0-9][a-z0-9-]{0,62})*$/i;

/** A host, an address, or a network (CIDR). */
const receiver: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined) return undefined;
  if (isAddressOrNetwork(written) || HOST.test(written)) return written;
  const message = `${shown(written)} is not a host, address or network, such as hooks.lab or 10.0.0.0/8`;
  return fail(place, "address_format", message);
};

const readWebhooks: Reader<WebhookSettings> = mapping((fields) => ({
  ...WEBHOOK_SETTINGS,
  allow: fields.optional("allow", list({ minimum: 0, maximum: ALLOWED_MAXIMUM }, receiver)) ?? WEBHOOK_SETTINGS.allow,
}));

const KEYS = {
  listen: withDefault(listenAddress, { host: "127.0.0.1", port: 8080 }),
  tls: withDefault(readTls, null),
  /** Addresses and networks (CIDR) of proxies whose X-Forwarded-For is trusted. */
  trusted_proxies: withDefault(networks, []),
  bootstrap_key_file: withDefault(absolutePath, null),
  /** Path of the model catalog, which is applied at start. */
  models: withDefault(absolutePath, null),
  rate_limit: withDefault(readRateLimit, RATE_LIMITS),
  /** Whether /metrics is served. */
  metrics: withDefault(boolean, true),
  /** Whether the console is served. */
  console: withDefault(boolean, true),
  log: withDefault(
    keysReader(LOG, (log) => log),
    defaultsOf(LOG),
  ),
  /** How many days entries of the audit log are kept. */
  audit: withDefault(readAudit, AUDIT_RETENTION_DAYS.standard),
  limits: withDefault(readLimits, SERVICE_LIMITS),
  identity: withDefault(readIdentity, IDENTITY_SETTINGS),
  webhooks: withDefault(readWebhooks, WEBHOOK_SETTINGS),
};

export interface Configuration extends ValuesOf<typeof KEYS> {
  readonly keep: Keep | null;
}

/** An empty configuration. */
export const DEFAULTS: Configuration = { ...defaultsOf(KEYS), keep: null };

const readRoot: Reader<Configuration> = mapping((fields, place) => {
  return { ...readKeys(fields, KEYS), keep: readKeep(fields, place) };
});
