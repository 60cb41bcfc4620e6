/** What the pages of an organization depend on, as values that differ once it has changed: the console asks for them again and again. */
import { sql } from "kysely";

import { isoTime } from "../platform/clock.ts";
import type { Reader } from "./kernel/store/store.ts";

/** Newest entries of the audit log that count. More than one: a replica may commit one with a slightly older id than others. */
const AUDITED_COUNT = 8;

export interface Changes {
  /** The newest changes of the organization and of the service, but for registrations of robots; newest first. */
  readonly audited: unknown;
  /** What registrations change, and what the service's tasks and the passing of time do: nothing of it is in `audited`. */
  readonly registrations: unknown;
  readonly presence: unknown;
  readonly enrolments: unknown;
  readonly fleets: unknown;
  readonly deployments: unknown;
  readonly endpoints: unknown;
  readonly usage: unknown;
  readonly webhooks: unknown;
}

interface ReadAt {
  readonly nowMs: number;
  /** How long after its last heartbeat a robot is online. */
  readonly onlineWindowMs: number;
}

export async function readChanges(reader: Reader, organizationId: string, at: ReadAt): Promise<Changes> {
  return {
    audited: await auditedChanges(reader, organizationId),
    registrations: await reader
      .selectFrom("robots")
      .select(({ fn }) => [fn.max("changed_at").as("changed"), fn.max("contested_at").as("contested")])
      .where("organization_id", "=", organizationId)
      .where("removed_at", "is", null)
      .executeTakeFirst(),
    presence: await presence(reader, organizationId, isoTime(at.nowMs - at.onlineWindowMs)),
    enrolments: await reader
      .selectFrom("enrolments")
      .select(({ fn }) => [fn.countAll().as("count"), fn.max("id").as("newest")])
      .where("status", "=", "pending")
      .where((where) =>
        where.or([where("wanted_organization_id", "=", organizationId), where("wanted_organization_id", "is", null)]),
      )
      .executeTakeFirst(),
    fleets: await fleetChanges(reader, organizationId, at.nowMs),
    deployments: await reader
      .selectFrom("deployments")
      .select(["status", "last_error_code"])
      .select(({ fn }) => [fn.countAll().as("count"), fn.max("activated_at").as("activated_at")])
      .where("organization_id", "=", organizationId)
      .where("retired_at", "is", null)
      .groupBy(["status", "last_error_code"])
      .orderBy("status")
      .orderBy("last_error_code")
      .execute(),
    endpoints: await reader
      .selectFrom("endpoints")
      .select(["checkpoint_id", "region", "health", "health_since", "withdrawn_at"])
      .orderBy("checkpoint_id")
      .orderBy("region")
      .execute(),
    usage: await reader
      .selectFrom("usage_records")
      .select("id")
      .where("organization_id", "=", organizationId)
      .orderBy("id", "desc")
      .limit(1)
      .executeTakeFirst(),
    webhooks: await reader
      .selectFrom("webhooks")
      .select(["id", "last_error"])
      .where("organization_id", "=", organizationId)
      .orderBy("id")
      .execute(),
  };
}

async function auditedChanges(reader: Reader, organizationId: string): Promise<unknown> {
  // One query each, so that an index fits both. Registrations of robots have none.
  const newest = reader
    .selectFrom("audit_log")
    .select("id")
    .where("action", "<>", sql.lit("robot.setup"))
    .orderBy("id", "desc")
    .limit(AUDITED_COUNT);
  const own = await newest.where("organization_id", "=", organizationId).execute();
  return [...own, ...(await newest.where("organization_id", "is", null).execute())];
}

/** Differs when a robot comes online or goes offline (then another one was the last that went), and when one can register or no longer. */
async function presence(reader: Reader, organizationId: string, onlineSince: string): Promise<unknown> {
  const isOnline = sql<boolean>`last_seen_at >= ${onlineSince}`;
  const isNotReady = sql<boolean>`last_seen_at >= ${onlineSince} and readiness = 'not_ready'`;
  return reader
    .selectFrom("installations")
    .select(({ fn }) => [
      fn.countAll().filterWhere(isOnline).as("online"),
      fn.countAll().filterWhere(isNotReady).as("notReady"),
      fn.max("last_seen_at").filterWhere("last_seen_at", "<", onlineSince).as("lastGone"),
    ])
    .where("organization_id", "=", organizationId)
    .where("state", "=", "active")
    .executeTakeFirst();
}

/** Differs when a fleet changes its generation, and when an operating window begins or ends. */
export async function fleetChanges(reader: Reader, organizationId: string, nowMs: number): Promise<unknown> {
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
  const begun = await lastBefore(reader, organizationId, "starts_ms", nowMs);
  return [fleets, awaited, begun, await lastBefore(reader, organizationId, "ends_ms", nowMs)];
}

/** When an operating window of the organization last began or ended. */
async function lastBefore(
  reader: Reader,
  organizationId: string,
  edge: "starts_ms" | "ends_ms",
  nowMs: number,
): Promise<unknown> {
  return reader
    .selectFrom("fleet_windows")
    .select(({ fn }) => fn.max(edge).as("at_ms"))
    .where("organization_id", "=", organizationId)
    .where(edge, "<=", nowMs)
    .executeTakeFirst();
}
