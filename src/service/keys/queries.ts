import type { Transaction } from "kysely";

import { workingCredentials } from "../kernel/auth/credentials.ts";
import { VIEW_COLUMNS } from "../kernel/auth/key-queries.ts";
import type { KeyViewRow } from "../kernel/auth/key-queries.ts";
import { chunksOf, lineageOf } from "../kernel/auth/lineage.ts";
import type { PageRange } from "../kernel/lists/page-range.ts";
import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

/**
 * Keys of an organization that are not revoked; more is a script that runs away. The last places are for those who can put an end to it: keys
 * that may do everything, and beyond them the command line on the service's own computer.
 */
export const API_KEYS_MAXIMUM = { restricted: 9000, unrestricted: 10_000, command: 10_100 } as const;

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
