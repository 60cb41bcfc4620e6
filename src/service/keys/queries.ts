import { workingCredentials, worksAt } from "../kernel/auth/credentials.ts";
import { type KeyViewRow, selectKeys } from "../kernel/auth/key-queries.ts";
import { chunksOf, lineageOf } from "../kernel/auth/lineage.ts";
import { inRange, type PageRange } from "../kernel/lists/pages.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

/**
 * Maximum keys of an organization that are not revoked; bounds a runaway script. Unrestricted keys and the service's own command line
 * have higher limits, so that they can still act when a restricted key has used up its own.
 */
export const API_KEYS_MAXIMUM = { restricted: 9000, unrestricted: 10_000, command: 10_100 } as const;

export async function insertKey(transaction: Transaction, key: Tables["api_keys"]): Promise<void> {
  await transaction.insertInto("api_keys").values(key).execute();
}

/** Keys of an organization, revoked ones too, oldest first. */
export function listKeys(reader: Reader, organizationId: string, range: PageRange): Promise<KeyViewRow[]> {
  return inRange(selectKeys(reader, organizationId), "id", range).execute();
}

/** Keys of an organization that work at `now` (ISO 8601), newest first. */
export function listWorkingKeys(
  reader: Reader,
  organizationId: string,
  now: string,
  rows: number,
): Promise<KeyViewRow[]> {
  return selectKeys(reader, organizationId).where(worksAt(now)).orderBy("id", "desc").limit(rows).execute();
}

/** The organization of a key, for the service's own command line. */
export async function findKeyOrganization(reader: Reader, id: string): Promise<string | undefined> {
  const key = await reader.selectFrom("api_keys").select("organization_id").where("id", "=", id).executeTakeFirst();
  return key?.organization_id;
}

/**
 * Revokes a key and the keys that depend on it at `at`; later requests with any of them are refused.
 *
 * @returns the ids of all of them, and how many of the others worked until now.
 */
export async function markKeysRevoked(
  transaction: Transaction,
  organizationId: string,
  id: string,
  at: string,
): Promise<{ readonly lineage: readonly string[]; readonly othersEnded: number }> {
  let othersEnded = 0;
  for (;;) {
    const lineage = await lineageOf(transaction, organizationId, id);
    let count = 0;
    for (const ids of chunksOf(lineage)) {
      // Waits for transactions that write with one of these keys; an update alone would not wait.
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
      othersEnded += revoked.filter((key) => key.id !== id && (key.expires_at === null || key.expires_at > at)).length;
    }
    // Repeat: one of them may have created a key just before its row was locked.
    if (count === 0) return { lineage, othersEnded };
  }
}

/** How many other keys that work at `now` (ISO 8601) depend on a key. */
export async function countEndingWith(
  transaction: Transaction,
  organizationId: string,
  id: string,
  now: string,
): Promise<number> {
  const others = (await lineageOf(transaction, organizationId, id)).filter((other) => other !== id);
  let count = 0;
  for (const ids of chunksOf(others)) count += (await workingCredentials(transaction, ids, now)).size;
  return count;
}

/** How many keys of an organization are not revoked. */
export async function countKeys(transaction: Transaction, organizationId: string): Promise<number> {
  const { count } = await transaction
    .selectFrom("api_keys")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("organization_id", "=", organizationId)
    .where("revoked_at", "is", null)
    .executeTakeFirstOrThrow();
  return count;
}

/** Whether an organization has an unrestricted key that works at `now` (ISO 8601). */
export async function hasUnrestrictedKey(
  transaction: Transaction,
  organizationId: string,
  now: string,
): Promise<boolean> {
  const found = await transaction
    .selectFrom("api_keys")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("scopes", "is", null)
    .where(worksAt(now))
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}
