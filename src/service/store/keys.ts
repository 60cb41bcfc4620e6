import type { Transaction } from "kysely";

import type { Reader } from "./store.ts";
import type { Tables } from "./tables.ts";

/** What a request needs to know of the key it came with. */
export type KeyRow = Pick<
  Tables["api_keys"],
  "id" | "organization_id" | "key_sha256" | "scopes" | "expires_at" | "revoked_at"
>;

/** Looks a key up by its hash; the one query that does not begin with the organization, because it finds it. */
export function findKey(reader: Reader, key_sha256: string): Promise<KeyRow | undefined> {
  return reader
    .selectFrom("api_keys")
    .select(["id", "organization_id", "key_sha256", "scopes", "expires_at", "revoked_at"])
    .where("key_sha256", "=", key_sha256)
    .executeTakeFirst();
}

export async function insertKey(transaction: Transaction<Tables>, key: Tables["api_keys"]): Promise<void> {
  await transaction.insertInto("api_keys").values(key).execute();
}

/** The first organization, made when there is none yet. */
export async function ensureOrganization(
  transaction: Transaction<Tables>,
  organization: Tables["organizations"],
): Promise<string> {
  const first = await transaction.selectFrom("organizations").select("id").orderBy("id").limit(1).executeTakeFirst();
  if (first !== undefined) return first.id;
  await transaction.insertInto("organizations").values(organization).execute();
  return organization.id;
}
