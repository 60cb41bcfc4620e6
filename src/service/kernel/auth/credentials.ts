import type { Transaction } from "kysely";

import { prepare } from "../store/prepared.ts";
import type { Reader } from "../store/store.ts";
import type { Tables } from "../store/tables.ts";

/** When a credential ends, or has ended. */
export type CredentialEnd = Pick<Tables["api_keys"], "expires_at" | "revoked_at">;

interface CredentialId {
  readonly organizationId: string;
  readonly id: string;
}

/**
 * A key or session of an organization. It cannot be ended by others before the transaction is: they lock its row for an update. Any
 * number may hold it at a time, also beside one who notes that it was used.
 */
export async function holdCredential(
  transaction: Transaction<Tables>,
  table: "api_keys" | "sessions",
  credential: CredentialId,
): Promise<CredentialEnd | undefined> {
  const [row] = await (table === "api_keys" ? holdKey : holdSession)(transaction, credential);
  return row;
}

const holdKey = prepare<CredentialId, CredentialEnd>((database, parameter) =>
  database
    .selectFrom("api_keys")
    .select(["expires_at", "revoked_at"])
    .where("organization_id", "=", parameter("organizationId"))
    .where("id", "=", parameter("id"))
    .forKeyShare(),
);

const holdSession = prepare<CredentialId, CredentialEnd>((database, parameter) =>
  database
    .selectFrom("sessions")
    .select(["expires_at", "revoked_at"])
    .where("organization_id", "=", parameter("organizationId"))
    .where("id", "=", parameter("id"))
    .forKeyShare(),
);

/** Those of these keys and sessions that are neither revoked nor expired at `now` (ISO 8601). */
export async function workingCredentials(
  reader: Reader,
  ids: readonly string[],
  now: string,
): Promise<ReadonlySet<string>> {
  const keys = await reader
    .selectFrom("api_keys")
    .select("id")
    .where("id", "in", ids)
    .where("revoked_at", "is", null)
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", now)]))
    .execute();
  const sessions = await reader
    .selectFrom("sessions")
    .select("id")
    .where("id", "in", ids)
    .where("revoked_at", "is", null)
    .where("expires_at", ">", now)
    .execute();
  return new Set([...keys, ...sessions].map(({ id }) => id));
}
