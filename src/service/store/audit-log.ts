import type { Transaction } from "kysely";

import type { Reader } from "./store.ts";
import type { Tables } from "./tables.ts";

export type AuditRow = Tables["audit_log"];

/**
 * Lets go of the oldest entries from before a moment, `count` at most.
 *
 * Ids sort as entries were made, so the oldest are looked at alone, not the whole log.
 *
 * @param before ISO 8601.
 * @returns how many went.
 */
export async function pruneAudit(transaction: Transaction<Tables>, before: string, count: number): Promise<number> {
  const oldest = transaction.selectFrom("audit_log").select(["id", "at"]).orderBy("id").limit(count);
  const { numDeletedRows } = await transaction
    .deleteFrom("audit_log")
    .where("id", "in", (query) => query.selectFrom(oldest.as("oldest")).select("id").where("at", "<", before))
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** When the entry was made that has so many newer ones; null where there are not so many. */
export async function auditedBeforeNewest(reader: Reader, count: number): Promise<string | null> {
  const query = reader.selectFrom("audit_log").select("at").orderBy("id", "desc").offset(count).limit(1);
  return (await query.executeTakeFirst())?.at ?? null;
}

/** Which entries: those that are equal in all that is given. */
export type AuditFilter = Partial<Record<"organization_id" | "subject_id" | "actor" | "action", string | undefined>>;

const FILTER_COLUMNS = ["organization_id", "subject_id", "actor", "action"] as const;

/**
 * The newest entries of all organizations, newest first: for whoever runs the service.
 *
 * @param since ISO 8601; null for no bound.
 */
export function readAudit(
  reader: Reader,
  since: string | null,
  count: number,
  filter: AuditFilter = {},
): Promise<AuditRow[]> {
  let query = reader.selectFrom("audit_log").selectAll().orderBy("id", "desc").limit(count);
  if (since !== null) query = query.where("at", ">=", since);
  for (const column of FILTER_COLUMNS) {
    const value = filter[column];
    if (value !== undefined) query = query.where(column, "=", value);
  }
  return query.execute();
}
