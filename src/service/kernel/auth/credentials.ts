import type { ExpressionBuilder } from "kysely";

import { prepare } from "../store/prepared.ts";
import type { Reader, Store } from "../store/store.ts";
import type { Tables, Transaction } from "../store/tables.ts";
import { type Clock, isoNow } from "../../../platform/clock.ts";
import type { Principal } from "./authenticate.ts";

/** The condition of keys that work at `now` (ISO 8601): neither revoked nor expired. */
export function worksAt(now: string) {
  return ({ and, or, eb }: ExpressionBuilder<Pick<Tables, "api_keys">, "api_keys">) =>
    and([
      eb("api_keys.revoked_at", "is", null),
      or([eb("api_keys.expires_at", "is", null), eb("api_keys.expires_at", ">", now)]),
    ]);
}

/** Those of these keys, sessions and installations of robots that are neither revoked nor expired at `now` (ISO 8601). */
export async function workingCredentials(
  reader: Reader,
  ids: readonly string[],
  now: string,
): Promise<ReadonlySet<string>> {
  const keys = await reader.selectFrom("api_keys").select("id").where("id", "in", ids).where(worksAt(now)).execute();
  const sessions = await reader
    .selectFrom("sessions")
    .select("id")
    .where("id", "in", ids)
    .where("revoked_at", "is", null)
    .where("expires_at", ">", now)
    .execute();
  const installations = await reader
    .selectFrom("installations")
    .select("id")
    .where("id", "in", ids)
    .where("state", "=", "active")
    .execute();
  return new Set([...keys, ...sessions, ...installations].map(({ id }) => id));
}

/** The credential of a request ended before its write; nothing was written. */
export class CredentialEndedError extends Error {
  constructor() {
    super("The credential ended while the request was under way");
  }
}

/** `store.write` for a principal. @throws CredentialEndedError, and what `store.write` throws. */
export type PrincipalWrite = Store["write"];

/**
 * Writes only while the credential of the principal is valid. It was valid when the request began, but its body may arrive half a minute
 * later.
 */
export function writeAs(
  store: Pick<Store, "write">,
  clock: Pick<Clock, "wallMs">,
  principal: Principal,
): PrincipalWrite {
  return async (job) => {
    const done = await store.write(async (transaction) => {
      const now = isoNow(clock);
      return (await isStillValid(transaction, principal, now)) ? { value: await job(transaction) } : null;
    });
    if (done === null) throw new CredentialEndedError();
    return done.value;
  };
}

/**
 * Whether a credential that was valid when its request began is still valid at `at` (ISO 8601).
 *
 * Locks the credential's row, so that a concurrent revocation takes effect before or after the whole transaction. The lock allows other share
 * locks, and of keys and sessions updates of their last use.
 */
export async function isStillValid(
  transaction: Transaction,
  { organizationId, credential, credentialId: id, expiresAt }: Principal,
  at: string,
): Promise<boolean> {
  const of = { organizationId, id };
  if (credential === "robot") {
    const [installation] = await holdInstallation(transaction, of);
    return installation?.state === "active" && expiresAt !== null && expiresAt > at;
  }
  const [row] = await (credential === "api_key" ? holdKey : holdSession)(transaction, of);
  return row !== undefined && row.revoked_at === null && (row.expires_at === null || row.expires_at > at);
}

interface CredentialId {
  readonly organizationId: string;
  readonly id: string;
}

const holdKey = prepareHold("api_keys");
const holdSession = prepareHold("sessions");

function prepareHold(table: "api_keys" | "sessions") {
  return prepare<CredentialId, Pick<Tables["api_keys"], "expires_at" | "revoked_at">>((database, parameter) =>
    database
      .selectFrom(table)
      .select(["expires_at", "revoked_at"])
      .where("organization_id", "=", parameter("organizationId"))
      .where("id", "=", parameter("id"))
      .forKeyShare(),
  );
}

const holdInstallation = prepare<CredentialId, Pick<Tables["installations"], "state">>((database, parameter) =>
  database
    .selectFrom("installations")
    .select("state")
    .where("organization_id", "=", parameter("organizationId"))
    .where("id", "=", parameter("id"))
    .forShare(),
);
