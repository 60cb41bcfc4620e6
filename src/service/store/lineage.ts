import { sql } from "kysely";
import type { RawBuilder } from "kysely";

/** The ids of a key and of all keys that end with it, as a subquery. */
export function lineageOf(key_id: string): RawBuilder<string> {
  return sql<string>`(with recursive lineage (id) as (
      select id from api_keys where id = ${key_id} union select api_keys.id from api_keys join lineage on api_keys.parent_id = lineage.id
    ) select id from lineage)`;
}
