import type { Transaction } from "../store/tables.ts";

/** Levels of keys created with other keys. More are not useful, and revoking the first key takes a query per level. */
export const LINEAGE_DEPTH_MAXIMUM = 16;
/** Ids per query. */
const CHUNK = 1000;

/**
 * A key and all keys that are revoked with it. One query per level instead of a recursive query: with old statistics PostgreSQL plans that
 * badly, and takes seconds for thousands of keys.
 */
export async function lineageOf(
  transaction: Transaction,
  organizationId: string,
  id: string,
): Promise<readonly string[]> {
  const found = new Set([id]);
  let level: readonly string[] = [id];
  while (level.length > 0) {
    const children: string[] = [];
    for (const parents of chunksOf(level)) {
      const rows = await transaction
        .selectFrom("api_keys")
        .select("id")
        .where("organization_id", "=", organizationId)
        .where("parent_id", "in", parents)
        .execute();
      children.push(...rows.map((row) => row.id).filter((child) => !found.has(child)));
    }
    for (const child of children) found.add(child);
    level = children;
  }
  return [...found];
}

/** The level of a key: the number of keys whose revocation ends it, itself included. 1 for an independent key. */
export async function depthOf(transaction: Transaction, organizationId: string, id: string): Promise<number> {
  let depth = 0;
  for (let at: string | null = id; at !== null && depth <= LINEAGE_DEPTH_MAXIMUM; depth += 1) {
    const key: { parent_id: string | null } | undefined = await transaction
      .selectFrom("api_keys")
      .select("parent_id")
      .where("organization_id", "=", organizationId)
      .where("id", "=", at)
      .executeTakeFirst();
    at = key?.parent_id ?? null;
  }
  return depth;
}

/** Splits ids into chunks for one query each. */
export function chunksOf<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / CHUNK) }, (_, index) =>
    items.slice(index * CHUNK, (index + 1) * CHUNK),
  );
}
