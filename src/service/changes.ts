import { sql } from "kysely";

import type { Reader } from "./kernel/store/store.ts";
import type { Tables } from "./kernel/store/tables.ts";

/** An audited change, with what others need to decide whether to reload. */
export type AuditedChange = Pick<Tables["audit_log"], "id" | "organization_id" | "action">;

/** How many of the newest changes are read. */
export const NEWEST_CHANGES_MAXIMUM = 200;

/** The newest changes of all organizations, newest first. */
export function newestChanges(reader: Reader): Promise<readonly AuditedChange[]> {
  return reader
    .selectFrom("audit_log")
    .select(["id", "organization_id", "action"])
    .orderBy("id", "desc")
    .limit(NEWEST_CHANGES_MAXIMUM)
    .execute();
}

/** How many changes are counted at most. */
const LOOKED_THROUGH_MAXIMUM = 10_000;

/** Number of changes after this id, by organization and action; null when there are too many. */
export async function countChangesSince(
  reader: Reader,
  id: string,
): Promise<readonly (Omit<AuditedChange, "id"> & { readonly count: number })[] | null> {
  const rows = await reader
    .selectFrom((from) =>
      from
        .selectFrom("audit_log")
        .select(["organization_id", "action"])
        .where("id", ">", id)
        .limit(LOOKED_THROUGH_MAXIMUM)
        .as("newer"),
    )
    .select(["organization_id", "action"])
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .groupBy(["organization_id", "action"])
    .execute();
  return rows.reduce((sum, { count }) => sum + count, 0) < LOOKED_THROUGH_MAXIMUM ? rows : null;
}

/** A text that changes when the health of any endpoint changes. */
export async function endpointsMark(reader: Reader): Promise<string> {
  const endpoints = await reader
    .selectFrom("endpoints")
    .select(["checkpoint_id", "region", "health", "health_since", "withdrawn_at"])
    .orderBy("checkpoint_id")
    .orderBy("region")
    .execute();
  return JSON.stringify(endpoints);
}

/** A text that changes when an enrolment that people of the organization may see starts or ends. */
export async function enrolmentsMark(reader: Reader, organizationId: string): Promise<string> {
  const waiting = await reader
    .selectFrom("enrolments")
    .select(({ fn }) => [fn.countAll().as("count"), fn.max("id").as("newest")])
    .where("status", "=", "pending")
    .where((where) =>
      where.or([where("wanted_organization_id", "=", organizationId), where("wanted_organization_id", "is", null)]),
    )
    .executeTakeFirst();
  return JSON.stringify(waiting);
}

/** A text that changes when a webhook begins to fail, and when it works again. */
export async function webhooksMark(reader: Reader, organizationId: string): Promise<string> {
  const webhooks = await reader
    .selectFrom("webhooks")
    .select(["id", "last_error"])
    .where("organization_id", "=", organizationId)
    .orderBy("id")
    .execute();
  return JSON.stringify(webhooks);
}

/** Which robots of an organization are online, as far as the store knows. */
export interface PresenceMark {
  /** Changes when a robot comes online or goes offline: then another one was the last that went. And when one can register or no longer. */
  readonly mark: string;
  /** When the first of those that are online sent its last heartbeat (ISO 8601); null if none is. */
  readonly firstSeenAt: string | null;
}

export async function presenceMark(reader: Reader, organizationId: string, onlineSince: string): Promise<PresenceMark> {
  const isOnline = sql<boolean>`last_seen_at >= ${onlineSince}`;
  const isNotReady = sql<boolean>`last_seen_at >= ${onlineSince} and readiness = 'not_ready'`;
  const { count, notReady, lastGone, firstSeenAt } = await reader
    .selectFrom("installations")
    .select(({ fn }) => [
      fn.countAll().filterWhere(isOnline).as("count"),
      fn.countAll().filterWhere(isNotReady).as("notReady"),
      fn.max("last_seen_at").filterWhere("last_seen_at", "<", onlineSince).as("lastGone"),
      fn.min("last_seen_at").filterWhere(isOnline).as("firstSeenAt"),
    ])
    .where("organization_id", "=", organizationId)
    .where("state", "=", "active")
    .executeTakeFirstOrThrow();
  return { mark: JSON.stringify([count, notReady, lastGone]), firstSeenAt };
}

/** A text that changes when an organization's deployments change state; two that swap states go unnoticed. */
export async function deploymentsMark(reader: Reader, organizationId: string): Promise<string> {
  const counts = await reader
    .selectFrom("deployments")
    .select(["status", "last_error_code"])
    .select(({ fn }) => [fn.countAll().as("count"), fn.max("activated_at").as("activated_at")])
    .where("organization_id", "=", organizationId)
    .where("retired_at", "is", null)
    .groupBy(["status", "last_error_code"])
    .orderBy("status")
    .orderBy("last_error_code")
    .execute();
  return JSON.stringify(counts);
}

/** The state of an organization's fleets, as far as answers about them depend on it. */
export interface FleetsMark {
  /** Changes when a fleet changes its generation, or a window begins or ends. */
  readonly mark: string;
  /** When the next window begins or ends, in milliseconds since the epoch; infinite if none does. */
  readonly nextEdgeMs: number;
}

export async function fleetsMark(reader: Reader, organizationId: string, nowMs: number): Promise<FleetsMark> {
  const fleets = await reader
    .selectFrom("fleets")
    .select(["id", "generation_id", "update_generation_id"])
    .where("organization_id", "=", organizationId)
    .where("removed_at", "is", null)
    .orderBy("id")
    .execute();
  // One that is superseded changes the ids of its fleet; all others that ever were need not be read.
  const awaited = await reader
    .selectFrom("generations")
    .innerJoin("fleets", "fleets.id", "generations.fleet_id")
    .select(({ fn }) => fn.countAll().as("count"))
    .where("fleets.organization_id", "=", organizationId)
    .where("activated_at", "is", null)
    .where("superseded_at", "is", null)
    .executeTakeFirst();
  const starts = await edgesAround(reader, organizationId, "starts_ms", nowMs);
  const ends = await edgesAround(reader, organizationId, "ends_ms", nowMs);
  const mark = JSON.stringify([fleets, awaited, starts.lastMs, ends.lastMs]);
  return { mark, nextEdgeMs: Math.min(starts.nextMs, ends.nextMs) };
}

/** When a window of the organization last began or ended (null if none did), and when one does next. */
async function edgesAround(
  reader: Reader,
  organizationId: string,
  edge: "starts_ms" | "ends_ms",
  nowMs: number,
): Promise<{ readonly lastMs: number | null; readonly nextMs: number }> {
  const edges = reader.selectFrom("fleet_windows").where("organization_id", "=", organizationId);
  const last = await edges
    .select(({ fn }) => fn.max<number | null>(edge).as("at_ms"))
    .where(edge, "<=", nowMs)
    .executeTakeFirst();
  const next = await edges
    .select(({ fn }) => fn.min<number | null>(edge).as("at_ms"))
    .where(edge, ">", nowMs)
    .executeTakeFirst();
  return { lastMs: last?.at_ms ?? null, nextMs: next?.at_ms ?? Number.POSITIVE_INFINITY };
}

/** A text that changes when a record is added to an organization's ledger. */
export async function usageMark(reader: Reader, organizationId: string): Promise<string> {
  const newest = await reader
    .selectFrom("usage_records")
    .select("id")
    .where("organization_id", "=", organizationId)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return newest?.id ?? "";
}
