import type { Transaction } from "kysely";

import { workingCredentials } from "../kernel/auth/credentials.ts";
import { chunksOf, lineageOf } from "../kernel/auth/lineage.ts";
import type { PageRange } from "../kernel/lists/page-range.ts";
import { prepare } from "../kernel/store/prepared.ts";
import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

/** What a request needs to know of the key it came with. */
export type KeyRow = Pick<
  Tables["api_keys"],
  "id" | "organization_id" | "key_sha256" | "scopes" | "expires_at" | "revoked_at" | "robots" | "max_robots"
>;

/** The columns a key's view is made of: not its hash. */
const VIEW_COLUMNS = [
  "id",
  "label",
  "key_prefix",
  "key_last4",
  "scopes",
  "created_at",
  "last_used_at",
  "expires_at",
  "revoked_at",
  "created_by",
  "parent_id",
  "robots",
  "max_robots",
] as const;

export type KeyViewRow = Pick<Tables["api_keys"], (typeof VIEW_COLUMNS)[number]>;

/**
 * Keys of an organization that are not revoked; more is a script that runs away. The last places are for those who can put an end to it: keys
 * that may do everything, and beyond them the command line on the service's own computer.
 */
export const API_KEYS_MAXIMUM = { restricted: 9000, unrestricted: 10_000, command: 10_100 } as const;

/** Looks a key up by its hash; the one query that does not begin with the organization, because it finds it. */
export async function findKey(reader: Reader, keySha256: string): Promise<KeyRow | undefined> {
  const [key] = await selectByHash(reader, { key_sha256: keySha256 });
  return key;
}

const selectByHash = prepare<Pick<KeyRow, "key_sha256">, KeyRow>((database, parameter) =>
  database
    .selectFrom("api_keys")
    .select(["id", "organization_id", "key_sha256", "scopes", "expires_at", "revoked_at", "robots", "max_robots"])
    .where("key_sha256", "=", parameter("key_sha256")),
);

export async function insertKey(transaction: Transaction<Tables>, key: Tables["api_keys"]): Promise<void> {
  await transaction.insertInto("api_keys").values(key).execute();
}

/** Keys of an organization, revoked ones too, oldest first. */
export function listKeys(reader: Reader, organizationId: string, { after, rows }: PageRange): Promise<KeyViewRow[]> {
  let query = reader.selectFrom("api_keys").select(VIEW_COLUMNS).where("organization_id", "=", organizationId);
  if (after !== null) query = query.where("id", ">", after);
  if (rows !== null) query = query.limit(rows);
  return query.orderBy("id").execute();
}

/** Keys of an organization that work at `now` (ISO 8601), newest first. */
export function listWorkingKeys(
  reader: Reader,
  organizationId: string,
  now: string,
  rows: number,
): Promise<KeyViewRow[]> {
  return reader
    .selectFrom("api_keys")
    .select(VIEW_COLUMNS)
    .where("organization_id", "=", organizationId)
    .where("revoked_at", "is", null)
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", now)]))
    .orderBy("id", "desc")
    .limit(rows)
    .execute();
}

/** Whose key an id names, for commands on the service's own computer. */
export async function findKeyOrganization(reader: Reader, id: string): Promise<string | undefined> {
  const key = await reader.selectFrom("api_keys").select("organization_id").where("id", "=", id).executeTakeFirst();
  return key?.organization_id;
}

/** One key of an organization, which cannot be revoked by others before the transaction ends; any number may hold it at a time. */
export function holdKey(
  transaction: Transaction<Tables>,
  organizationId: string,
  id: string,
): Promise<KeyViewRow | undefined> {
  return keyOf(transaction, organizationId, id).forKeyShare().executeTakeFirst();
}

/** One key of an organization, held against others who add robots with it, too, until the transaction ends. */
export async function holdKeyToAdd(
  transaction: Transaction<Tables>,
  organizationId: string,
  id: string,
): Promise<void> {
  // A stronger lock would wait for those who hold the key, and they for this one.
  await keyOf(transaction, organizationId, id).forNoKeyUpdate().execute();
}

/** One key of an organization, held against other changes until the transaction ends. */
export function lockKey(
  transaction: Transaction<Tables>,
  organizationId: string,
  id: string,
): Promise<KeyViewRow | undefined> {
  return keyOf(transaction, organizationId, id).forUpdate().executeTakeFirst();
}

function keyOf(transaction: Transaction<Tables>, organizationId: string, id: string) {
  return transaction
    .selectFrom("api_keys")
    .select(VIEW_COLUMNS)
    .where("organization_id", "=", organizationId)
    .where("id", "=", id);
}

/**
 * Ends a key at `at`, and the keys that end with it; requests that come with one of them from now on are refused.
 *
 * @returns the ids of all of them, and how many others worked until now.
 */
export async function markKeysRevoked(
  transaction: Transaction<Tables>,
  organizationId: string,
  id: string,
  at: string,
): Promise<{ readonly lineage: readonly string[]; readonly others_ended: number }> {
  let othersEnded = 0;
  for (;;) {
    const lineage = await lineageOf(transaction, organizationId, id);
    let count = 0;
    for (const ids of chunksOf(lineage)) {
      // Whoever holds one of them to write with it is waited for; an update alone would not do that.
      await transaction.selectFrom("api_keys").select("id").where("id", "in", ids).orderBy("id").forUpdate().execute();
      const revoked = await transaction
        .updateTable("api_keys")
        .set({ revoked_at: at })
        .where("organization_id", "=", organizationId)
        .where("id", "in", ids)
        .where("revoked_at", "is", null)
        .returning(["id", "expires_at"])
        .execute();
      count += revoked.length;
      othersEnded += revoked.filter((key) => key.id !== id && (key.expires_at ?? at) >= at).length;
    }
    // Again: one of them may have made a key just before its row was ours.
    if (count === 0) return { lineage, others_ended: othersEnded };
  }
}

/** How many other keys that work at `now` (ISO 8601) end with a key. */
export async function countEndingWith(
  transaction: Transaction<Tables>,
  organizationId: string,
  id: string,
  now: string,
): Promise<number> {
  const [, ...others] = await lineageOf(transaction, organizationId, id);
  let count = 0;
  for (const ids of chunksOf(others)) count += (await workingCredentials(transaction, ids, now)).size;
  return count;
}

/** How many keys of an organization are not revoked. */
export async function countKeys(transaction: Transaction<Tables>, organizationId: string): Promise<number> {
  const { count } = await transaction
    .selectFrom("api_keys")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("organization_id", "=", organizationId)
    .where("revoked_at", "is", null)
    .executeTakeFirstOrThrow();
  return count;
}

/** Whether any key of an organization may still do everything at `now` (ISO 8601). */
export async function hasUnrestrictedKey(
  transaction: Transaction<Tables>,
  organizationId: string,
  now: string,
): Promise<boolean> {
  const found = await transaction
    .selectFrom("api_keys")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("scopes", "is", null)
    .where("revoked_at", "is", null)
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", now)]))
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}
