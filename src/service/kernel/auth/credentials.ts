import type { ExpressionBuilder } from "kysely";

import { prepare } from "../store/prepared.ts";
import type { Reader, Store } from "../store/store.ts";
import type { Tables, Transaction } from "../store/tables.ts";
import { type Clock, isoNow } from "../../../platform/clock.ts";
import type { Principal } from "./authenticate.ts";

/** Expiry and revocation of a credential. */
export type CredentialEnd = Pick<Tables["api_keys"], "expires_at" | "revoked_at">;

interface CredentialId {
  readonly organizationId: string;
  readonly id: string;
}

/** Tables of credentials. */
export type CredentialTable = "api_keys" | "sessions";

/**
 * A key or session of an organization, with a share lock on its row: others cannot revoke it before the transaction ends. The lock allows
 * other share locks, and updates of its last use.
 */
export async function holdCredential(
  transaction: Transaction,
  table: CredentialTable,
  credential: CredentialId,
): Promise<CredentialEnd | undefined> {
  const [row] = await HOLD[table](transaction, credential);
  return row;
}

const HOLD = { api_keys: prepareHold("api_keys"), sessions: prepareHold("sessions") };

function prepareHold(table: CredentialTable) {
  return prepare<CredentialId, CredentialEnd>((database, parameter) =>
    database
      .selectFrom(table)
      .select(["expires_at", "revoked_at"])
      .where("organization_id", "=", parameter("organizationId"))
      .where("id", "=", parameter("id"))
      .forKeyShare(),
  );
}

/** Whether an installation is active, with a share lock on its row: others cannot revoke or freeze it before the transaction ends. */
export async function holdActiveInstallation(
  transaction: Transaction,
  organizationId: string,
  id: string,
): Promise<boolean> {
  const [row] = await HOLD_INSTALLATION(transaction, { organizationId, id });
  return row?.state === "active";
}

const HOLD_INSTALLATION = prepare<CredentialId, Pick<Tables["installations"], "state">>((database, parameter) =>
  database
    .selectFrom("installations")
    .select("state")
    .where("organization_id", "=", parameter("organizationId"))
    .where("id", "=", parameter("id"))
    .forShare(),
);

/** Records the use of a credential at `at` (ISO 8601), unless another replica has recorded a later one. */
export async function noteUse(transaction: Transaction, table: CredentialTable, id: string, at: string): Promise<void> {
  await transaction
    .updateTable(table)
    .set({ last_used_at: at })
    .where("id", "=", id)
    .where((where) => where.or([where("last_used_at", "is", null), where("last_used_at", "<", at)]))
    .execute();
}

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
 * Locks the credential's row, so that a concurrent revocation takes effect before or after the whole transaction.
 */
export async function isStillValid(
  transaction: Transaction,
  { organizationId, credential, credentialId: id, expiresAt }: Principal,
  at: string,
): Promise<boolean> {
  if (credential === "robot") {
    const isActive = await holdActiveInstallation(transaction, organizationId, id);
    return isActive && expiresAt !== null && expiresAt > at;
  }
  const table = credential === "api_key" ? "api_keys" : "sessions";
  const row = await holdCredential(transaction, table, { organizationId, id });
  return row !== undefined && row.revoked_at === null && (row.expires_at === null || row.expires_at > at);
}
