import { type PageRange, inRange } from "../kernel/lists/pages.ts";
import { sql } from "kysely";
import { type EndpointFacts, loadPreparations } from "../endpoints/index.ts";
import { refuse } from "../kernel/http/answers.ts";
import { prepare } from "../kernel/store/prepared.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import { findVerdicts } from "../models/index.ts";
import { type FleetFacts, type GenerationFacts, type MemberGroup, parseWindows } from "./readiness/fleet-facts.ts";

export const UNKNOWN_FLEET = refuse("NotFound", "Fleet not found");

/** Identifies a fleet for tasks that process the fleets of all organizations. */
export type FleetKey = Pick<Tables["fleets"], "id" | "organization_id">;

/** Fleets per query that also reads their members: up to a thousand of each. */
export const FLEETS_AT_A_TIME = 5;

/** For readers that do not count robots: all members are taken to be online. */
const NOBODY_OFFLINE = "";

/** An organization's fleets, oldest first. @param onlineSince as in `loadFleetFacts`. */
export async function listFleetFacts(
  reader: Reader,
  organizationId: string,
  range: PageRange,
  onlineSince = NOBODY_OFFLINE,
): Promise<readonly FleetFacts[]> {
  const fleets = await inRange(liveFleets(reader, organizationId), "id", range).execute();
  return loadFleetFacts(reader, fleets, onlineSince);
}

/** One fleet; undefined if the organization has no such fleet. @param onlineSince as in `loadFleetFacts`. */
export async function findFleetFacts(
  reader: Reader,
  organizationId: string,
  fleetId: string,
  onlineSince = NOBODY_OFFLINE,
): Promise<FleetFacts | undefined> {
  const fleets = await liveFleets(reader, organizationId).where("id", "=", fleetId).execute();
  const [facts] = await loadFleetFacts(reader, fleets, onlineSince);
  return facts;
}

/** Whether an organization has a fleet after this id; null for any. Takes a tenth of the time of a snapshot, which an empty list does not need. */
export async function hasFleet(lookup: Reader, organizationId: string, after: string | null): Promise<boolean> {
  return (await FIRST_FLEET(lookup, { organizationId, after: after ?? "" })).length > 0;
}

const FIRST_FLEET = prepare<{ readonly organizationId: string; readonly after: string }, { readonly id: string }>(
  (database, parameter) =>
    database
      .selectFrom("fleets")
      .select("id")
      .where("organization_id", "=", parameter("organizationId"))
      .where("id", ">", parameter("after"))
      .where("removed_at", "is", null)
      .limit(1),
);

export function liveFleets(reader: Reader, organizationId: string) {
  return reader
    .selectFrom("fleets")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("removed_at", "is", null);
}

/** A fleet, locked for a change of its members or generations; undefined if the organization has no such fleet. */
export function lockFleet(
  transaction: Transaction,
  { id, organization_id: organizationId }: FleetKey,
): Promise<Tables["fleets"] | undefined> {
  return liveFleets(transaction, organizationId).where("id", "=", id).forUpdate().executeTakeFirst();
}

export async function insertMembers(
  transaction: Transaction,
  fleetId: string,
  robotIds: readonly string[],
): Promise<void> {
  if (robotIds.length === 0) return;
  const members = robotIds.map((robotId) => ({ fleet_id: fleetId, robot_id: robotId }));
  await transaction.insertInto("fleet_members").values(members).execute();
}

/** Records that another generation replaced this one, or that its update was cancelled. The fleet must be locked. */
export async function supersede(transaction: Transaction, generationId: string, now: string): Promise<void> {
  await transaction.updateTable("generations").set({ superseded_at: now }).where("id", "=", generationId).execute();
}

/**
 * Reads what the views of these few fleets are derived from, in their order: each has up to a thousand members.
 *
 * @param onlineSince ISO 8601: enrolled members whose last heartbeat is older are offline.
 */
async function loadFleetFacts(
  reader: Reader,
  fleets: readonly Tables["fleets"][],
  onlineSince: string,
): Promise<readonly FleetFacts[]> {
  if (fleets.length === 0) return [];
  const generationIds = fleets.flatMap(({ generation_id: generationId, update_generation_id: updateGenerationId }) =>
    updateGenerationId === null ? [generationId] : [generationId, updateGenerationId],
  );
  const generations = await loadGenerations(reader, generationIds);
  const fleetIds = fleets.map(({ id }) => id);
  const members = Map.groupBy(await groupMembers(reader, fleetIds, onlineSince), ({ fleet_id: fleetId }) => fleetId);
  const facts: FleetFacts[] = [];
  for (const fleet of fleets) {
    const active = generationOf(generations, fleet.generation_id);
    const update = fleet.update_generation_id === null ? null : generationOf(generations, fleet.update_generation_id);
    const rows = members.get(fleet.id) ?? [];
    await yieldEventLoop();
    facts.push({
      ...fleet,
      windows: parseWindows(fleet.operating_windows),
      active,
      update,
      members: await judgeMembers(reader, rows, { active, update }),
    });
  }
  return facts;
}

function generationOf(generations: ReadonlyMap<string, GenerationFacts>, id: string): GenerationFacts {
  const generation = generations.get(id);
  if (generation === undefined) throw new Error(`The store has a fleet without its generation ${id}`);
  return generation;
}

async function loadGenerations(reader: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, GenerationFacts>> {
  const rows = await reader
    .selectFrom("generations")
    .innerJoin("checkpoints", "checkpoints.id", "generations.checkpoint_id")
    .select(["generations.id", "subject", "checkpoint_id", "generations.created_at", "activated_at"])
    .select(["model_slug", "requirements"])
    .where("generations.id", "in", ids)
    .execute();
  const endpoints = await loadEndpoints(
    reader,
    rows.map(({ checkpoint_id: checkpointId }) => checkpointId),
  );
  const preparations = await loadPreparations(
    reader,
    rows.map(({ model_slug: modelSlug }) => modelSlug),
  );
  return new Map(
    rows.map((row) => {
      const offered = (endpoints.get(row.checkpoint_id) ?? []).filter(
        ({ withdrawn_at: withdrawnAt }) => withdrawnAt === null || row.created_at <= withdrawnAt,
      );
      const byRegion = new Map(offered.map(({ region, ...endpoint }): [string, EndpointFacts] => [region, endpoint]));
      return [row.id, { ...row, endpoints: byRegion, preparations: preparations.get(row.model_slug) ?? [] }];
    }),
  );
}

async function loadEndpoints(reader: Reader, checkpointIds: readonly string[]) {
  const rows = await reader
    .selectFrom("endpoints")
    .select(["checkpoint_id", "region", "health", "health_since", "last_probed_at", "last_error", "withdrawn_at"])
    .where("checkpoint_id", "in", checkpointIds)
    .execute();
  return Map.groupBy(rows, ({ checkpoint_id: checkpointId }) => checkpointId);
}

/** The members of these fleets, with their robots and current deployments. */
export function membersOf(reader: Reader, fleetIds: readonly string[], onlineSince: string) {
  return (
    reader
      .selectFrom("fleet_members")
      .innerJoin("robots", "robots.id", "fleet_members.robot_id")
      .leftJoin("deployments", (join) =>
        join.onRef("deployments.robot_id", "=", "robots.id").on("deployments.retired_at", "is", null),
      )
      .leftJoin("installations", "installations.id", "robots.installation_id")
      .select(["robots.region", "robot_type_id", "equipment_sha256", "checkpoint_id", "deployments.status"])
      // PostgreSQL answers with a boolean, SQLite with a number.
      .select(sql<number | boolean>`robots.removed_at is not null`.as("is_removed"))
      .select(
        sql<number | boolean>`installations.id is not null and
          (installations.state <> 'active' or coalesce(installations.last_seen_at, '') < ${onlineSince})`.as(
          "is_offline",
        ),
      )
      .where("fleet_id", "in", fleetIds)
  );
}

/** Equal robots are grouped into one row: a fleet of a thousand robots usually has a handful of groups. */
function groupMembers(reader: Reader, fleetIds: readonly string[], onlineSince: string) {
  return membersOf(reader, fleetIds, onlineSince)
    .select(({ fn }) => [
      "fleet_id",
      fn.countAll<number>().as("count"),
      fn.min("robots.name").as("example"),
      fn.min("robots.id").as("robot_id"),
    ])
    .groupBy([
      "fleet_id",
      "robots.region",
      "robot_type_id",
      "equipment_sha256",
      "checkpoint_id",
      "deployments.status",
      "is_removed",
      "is_offline",
    ])
    .orderBy("example")
    .execute();
}

type MemberRow = Omit<Awaited<ReturnType<typeof groupMembers>>[number], "fleet_id">;

/** Adds which of these members can run the generations of their fleet, and do. */
export async function judgeMembers<Row extends MemberRow>(
  reader: Reader,
  rows: readonly Row[],
  { active, update }: Pick<FleetFacts, "active" | "update">,
): Promise<readonly (Row & MemberGroup)[]> {
  const verdicts = await findVerdicts(reader, rows, active.requirements);
  const updateVerdicts = update === null ? [] : await findVerdicts(reader, rows, update.requirements);
  return rows.map((row, index) => ({
    ...row,
    isRemoved: Boolean(row.is_removed),
    isOffline: Boolean(row.is_offline),
    deployment: deploymentOf(row, active),
    obstacle: verdicts[index]?.obstacle ?? null,
    warnings: verdicts[index]?.warnings ?? [],
    updateObstacle: updateVerdicts[index]?.obstacle ?? null,
  }));
}

/** State of a robot's current deployment, from the view of a fleet with this active generation. */
function deploymentOf(
  { checkpoint_id: checkpointId, status }: Pick<MemberRow, "checkpoint_id" | "status">,
  active: GenerationFacts,
): MemberGroup["deployment"] {
  if (checkpointId !== active.checkpoint_id) return "none";
  return status === "active" ? "active" : "inactive";
}
