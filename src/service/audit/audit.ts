/** The audit log: its list, and its retention. Resources write entries with kernel/store/audit.ts. */
import * as z from "zod";
import { sql } from "kysely";

import type { AuditEntryView, AuditQuery } from "../../api/audit.ts";
import { answerList, ITEMS } from "../kernel/lists/answer-list.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { inRange, type PageRange } from "../kernel/lists/pages.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { isoTime } from "../../platform/clock.ts";
import { createPruning } from "../kernel/tasks/pruning.ts";
import type { Task } from "../kernel/tasks/task-loop.ts";

/**
 * `GET /v1/me/audit`: the changes in an organization except registrations, newest first, with `before` those before an entry; with `after`
 * those after one, oldest first.
 */
export function listOrganizationAudit({ store }: Pick<OperationContext, "store">): Handler<null, AuditQuery> {
  return (call) => {
    const { after, before } = call.query;
    const order = after === undefined ? "newest" : "oldest";
    return answerList(call, {
      prefix: "aud",
      around: ITEMS,
      fetch: (range) =>
        listChanges(
          store.reader,
          call.principal.organizationId,
          { ...range, after: range.after ?? after ?? before ?? null },
          order,
        ),
      view: viewEntry,
    });
  };
}

const detailsSchema = z.record(z.string(), z.unknown());

function viewEntry(entry: LabelledEntry): AuditEntryView {
  const { id, at, action, actor, label } = entry;
  return {
    id,
    at,
    action,
    subject_id: entry.subject_id,
    subject_name: entry.subject_name,
    subject_model: entry.subject_model,
    actor: { id: actor, label },
    request_id: entry.request_id,
    details: detailsSchema.parse(JSON.parse(entry.details)),
  };
}

type AuditRow = Tables["audit_log"];

/**
 * Deletes entries from before a time, at most `count`, but for the last registration of each robot. Reads only the oldest entries, because
 * ids are in the order of creation.
 *
 * @param before ISO 8601.
 * @returns how many were deleted.
 */
async function pruneAudit(transaction: Transaction, before: string, count: number): Promise<number> {
  const oldest = transaction
    .selectFrom("audit_log")
    .select(["id", "at"])
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("robots")
            .select("robots.id")
            .whereRef("robots.id", "=", "audit_log.subject_id")
            .whereRef("robots.audit_id", "=", "audit_log.id")
            .where("robots.removed_at", "is", null),
        ),
      ),
    )
    .orderBy("id")
    .limit(count);
  const { numDeletedRows } = await transaction
    .deleteFrom("audit_log")
    .where("id", "in", (query) => query.selectFrom(oldest.as("oldest")).select("id").where("at", "<", before))
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** The time of the entry that has `count` newer ones; null if there are fewer entries. */
async function auditedBeforeNewest(reader: Reader, count: number): Promise<string | null> {
  const query = reader.selectFrom("audit_log").select("at").orderBy("id", "desc").offset(count).limit(1);
  return (await query.executeTakeFirst())?.at ?? null;
}

/** An entry with the names that belong to its ids. */
type LabelledEntry = AuditRow & {
  /** What people call the actor. */
  readonly label: string | null;
  /** The name of a fleet or organization, the label of a key, or the robot of a deployment. */
  readonly subject_name: string | null;
  /** Of a deployment. */
  readonly subject_model: string | null;
};

/** The changes in an organization except registrations: entries behind the id `after` in this order. */
async function listChanges(
  reader: Reader,
  organizationId: string,
  range: PageRange,
  order: "oldest" | "newest",
): Promise<LabelledEntry[]> {
  const query = reader
    .selectFrom("audit_log")
    .leftJoin("api_keys as keys", "keys.id", "audit_log.subject_id")
    .leftJoin("fleets", "fleets.id", "audit_log.subject_id")
    .leftJoin("organizations", "organizations.id", "audit_log.subject_id")
    .leftJoin("deployments", "deployments.id", "audit_log.subject_id")
    .leftJoin("robots", (join) =>
      join.on((on) => on("robots.id", "=", on.fn.coalesce("deployments.robot_id", "audit_log.subject_id"))),
    )
    .selectAll("audit_log")
    .select("deployments.model_slug as subject_model")
    .select(({ fn }) =>
      fn.coalesce("keys.label", "fleets.name", "organizations.name", "robots.name").as("subject_name"),
    )
    .where("audit_log.organization_id", "=", organizationId)
    .where("audit_log.action", "<>", sql.lit("robot.setup"));
  const entries = await inRange(query, "audit_log.id", range, order).execute();
  const actors = entries.map(({ actor }) => actor);
  const names = await nameActors(reader, organizationId, actors);
  return entries.map((entry) => Object.assign(entry, { label: names.get(entry.actor) ?? null }));
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Number of newest entries that are always kept. */
export const NEWEST_KEPT = 100;

/**
 * Deletes audit entries that are older than `retentionDays`.
 *
 * With a clock that is far ahead, every entry would seem old. So age counts from the clock or the time of the entry number `NEWEST_KEPT`
 * from the end, whichever is earlier: nothing is lost if the clock is corrected before that many changes.
 */
export function createAuditPruning(context: Pick<OperationContext, "store" | "machine">, retentionDays: number): Task {
  return createPruning(context, { name: "prune-audit", intervalMs: HOUR_MS }, async ({ transaction, ago, maximum }) => {
    const newest = await auditedBeforeNewest(transaction, NEWEST_KEPT);
    if (newest === null) return 0;
    const now = ago(0) < newest ? ago(0) : newest;
    return pruneAudit(transaction, isoTime(Date.parse(now) - retentionDays * DAY_MS), maximum);
  });
}

/**
 * What people call these actors of an organization, by their ids: the label of a key, also of one that approved a session, and the name of
 * the robot for a robot's own computer. An actor without a name is left out.
 */
export async function nameActors(
  reader: Reader,
  organizationId: string,
  actors: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(actors)];
  // PostgreSQL takes no empty list.
  if (ids.length === 0) return new Map();
  const keys = await reader
    .selectFrom("api_keys")
    .select(["id", "label as name"])
    .where("organization_id", "=", organizationId)
    .where("id", "in", ids)
    .execute();
  const sessions = await reader
    .selectFrom("sessions")
    .innerJoin("api_keys", "api_keys.id", "sessions.created_by")
    .select(["sessions.id", "api_keys.label as name"])
    .where("sessions.organization_id", "=", organizationId)
    .where("sessions.id", "in", ids)
    .execute();
  const computers = await reader
    .selectFrom("installations")
    .innerJoin("robots", "robots.id", "installations.robot_id")
    .select(["installations.id", "robots.name"])
    .where("installations.organization_id", "=", organizationId)
    .where("installations.id", "in", ids)
    .execute();
  return new Map([...keys, ...sessions, ...computers].map(({ id, name }) => [id, name]));
}
