import { sql } from "kysely";
import type { Transaction } from "kysely";

import type { PageRange } from "../kernel/lists/page-range.ts";
import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

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

/** An entry with the names of what its ids stand for. */
export type LabelledEntry = AuditRow & {
  /** Of the key that the actor is, or goes back to. */
  readonly label: string | null;
  /** Name of a fleet or organization, label of a key, and of a deployment the robot. */
  readonly subject_name: string | null;
  /** Of a deployment. */
  readonly subject_model: string | null;
};

/** What was changed in an organization, but for registrations, newest first: entries before the id `after`. */
export function listChanges(
  reader: Reader,
  organizationId: string,
  { after, rows }: PageRange,
): Promise<LabelledEntry[]> {
  let query = reader
    .selectFrom("audit_log")
    .leftJoin("sessions", "sessions.id", "audit_log.actor")
    .leftJoin("api_keys as actors", (join) =>
      join
        .on((on) => on("actors.id", "=", on.fn.coalesce("sessions.created_by", "audit_log.actor")))
        .on("actors.organization_id", "=", organizationId),
    )
    .leftJoin("api_keys as keys", "keys.id", "audit_log.subject_id")
    .leftJoin("fleets", "fleets.id", "audit_log.subject_id")
    .leftJoin("organizations", "organizations.id", "audit_log.subject_id")
    .leftJoin("deployments", "deployments.id", "audit_log.subject_id")
    .leftJoin("robots", "robots.id", "deployments.robot_id")
    .selectAll("audit_log")
    .select(["actors.label", "deployments.model_slug as subject_model"])
    .select(({ fn }) =>
      fn.coalesce("keys.label", "fleets.name", "organizations.name", "robots.name").as("subject_name"),
    )
    .where("audit_log.organization_id", "=", organizationId)
    .where("audit_log.action", "<>", sql.lit("robot.setup"))
    .orderBy("audit_log.id", "desc");
  if (after !== null) query = query.where("audit_log.id", "<", after);
  if (rows !== null) query = query.limit(rows);
  return query.execute();
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
