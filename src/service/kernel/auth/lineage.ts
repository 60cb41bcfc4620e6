import { sql } from "kysely";

import type { Transaction } from "../store/tables.ts";

/** Levels of keys created with other keys; more are not useful. */
export const LINEAGE_DEPTH_MAXIMUM = 16;
/** Ids per query. */
const CHUNK = 1000;

/** A key and all keys that are revoked with it. */
export async function lineageOf(
  transaction: Transaction,
  organizationId: string,
  id: string,
): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly id: string }>`
    with recursive lineage (id) as (
      select id from api_keys where organization_id = ${organizationId} and id = ${id}
      union
      select api_keys.id from api_keys join lineage on api_keys.parent_id = lineage.id
      where api_keys.organization_id = ${organizationId}
    )
    select id from lineage`.execute(transaction);
  return rows.map((row) => row.id);
}

/** The level of a key: the number of keys whose revocation ends it, itself included. 1 for a key without a parent. */
export async function depthOf(transaction: Transaction, organizationId: string, id: string): Promise<number> {
  const { rows } = await sql<{ readonly id: string }>`
    with recursive lineage (id, parent_id) as (
      select id, parent_id from api_keys where organization_id = ${organizationId} and id = ${id}
      union
      select api_keys.id, api_keys.parent_id from api_keys join lineage on api_keys.id = lineage.parent_id
      where api_keys.organization_id = ${organizationId}
    )
    select id from lineage`.execute(transaction);
  return rows.length;
}

/** Splits ids into chunks for one query each. */
export function chunksOf<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / CHUNK) }, (_, index) =>
    items.slice(index * CHUNK, (index + 1) * CHUNK),
  );
}
