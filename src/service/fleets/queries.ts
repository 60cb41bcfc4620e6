import { inRange, type PageRange } from "../kernel/lists/page-range.ts";
import { prepare } from "../kernel/store/prepared.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { loadFleetFacts, NOBODY_OFFLINE } from "./fact-queries.ts";
import { type FleetFacts, parseWindows, windowsOf } from "./readiness/fleet-facts.ts";

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

function liveFleets(reader: Reader, organizationId: string) {
  return reader
    .selectFrom("fleets")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("removed_at", "is", null);
}

/** Identifies a fleet for tasks that process the fleets of all organizations. */
export type FleetKey = Pick<Tables["fleets"], "id" | "organization_id">;

/** Fleets per query that also reads their members: up to a thousand of each. */
export const FLEETS_AT_A_TIME = 5;
/** Keys of fleets per query. */
export const KEYS_AT_A_TIME = 100;

/**
 * Fleets with a generation that may be ready to become active: it is not active, and an endpoint of its checkpoint is healthy.
 *
 * @param after id of the last fleet of the batch before; null for the first.
 */
export function listFleetsToReconcile(reader: Reader, after: string | null): Promise<readonly FleetKey[]> {
  return reader
    .selectFrom("generations")
    .innerJoin("endpoints", "endpoints.checkpoint_id", "generations.checkpoint_id")
    .innerJoin("fleets", "fleets.id", "generations.fleet_id")
    .select(["fleets.id", "fleets.organization_id"])
    .distinct()
    .where("generations.activated_at", "is", null)
    .where("generations.superseded_at", "is", null)
    .where("endpoints.health", "=", "healthy")
    .where("generations.fleet_id", ">", after ?? "")
    .orderBy("fleets.id")
    .limit(KEYS_AT_A_TIME)
    .execute();
}

/** The row of a fleet; undefined if the organization has no such fleet. */
export function findFleet(reader: Reader, { id, organization_id: organizationId }: FleetKey) {
  return liveFleets(reader, organizationId).where("id", "=", id).executeTakeFirst();
}

/** A fleet, locked for a change of its members or generations. */
export function lockFleet(transaction: Transaction, key: FleetKey): Promise<Tables["fleets"] | undefined> {
  return fleetForUpdate(transaction, key).executeTakeFirst();
}

/** The same, but undefined for a fleet that another transaction has locked. */
export function lockFreeFleet(transaction: Transaction, key: FleetKey): Promise<Tables["fleets"] | undefined> {
  return fleetForUpdate(transaction, key).skipLocked().executeTakeFirst();
}

function fleetForUpdate(transaction: Transaction, { id, organization_id: organizationId }: FleetKey) {
  return liveFleets(transaction, organizationId).where("id", "=", id).forUpdate();
}

export async function countFleets(transaction: Transaction, organizationId: string): Promise<number> {
  const fleets = liveFleets(transaction, organizationId).clearSelect();
  const counted = fleets.select(({ fn }) => fn.countAll<number>().as("count"));
  return (await counted.executeTakeFirstOrThrow()).count;
}

/**
 * Adds a fleet with its first generation and its members.
 *
 * @returns false if the organization has a fleet with that name, even one created concurrently; then nothing is written.
 */
export async function insertFleet(
  transaction: Transaction,
  fleet: Tables["fleets"],
  generation: Tables["generations"],
  robotIds: readonly string[],
): Promise<boolean> {
  const inserted = await transaction
    .insertInto("fleets")
    .values(fleet)
    .onConflict((conflict) => conflict.columns(["organization_id", "name"]).where("removed_at", "is", null).doNothing())
    .returning("id")
    .executeTakeFirst();
  if (inserted === undefined) return false;
  await transaction.insertInto("generations").values(generation).execute();
  await insertMembers(transaction, fleet.id, robotIds);
  const windows = windowsOf(parseWindows(fleet.operating_windows));
  if (windows.length > 0) {
    const rows = windows.map(({ startsMs, endsMs }) => ({
      organization_id: fleet.organization_id,
      fleet_id: fleet.id,
      starts_ms: startsMs,
      ends_ms: endsMs,
    }));
    await transaction.insertInto("fleet_windows").values(rows).execute();
  }
  return true;
}

/** Adds and removes members, and sets the peak. The fleet must be locked. */
export async function replaceMembers(
  transaction: Transaction,
  { id }: Pick<Tables["fleets"], "id">,
  change: { readonly joining: readonly string[]; readonly leaving: readonly string[]; readonly peak: number },
): Promise<void> {
  const { joining, leaving, peak } = change;
  const members = transaction.deleteFrom("fleet_members").where("fleet_id", "=", id);
  if (leaving.length > 0) await members.where("robot_id", "in", leaving).execute();
  if (joining.length > 0) await insertMembers(transaction, id, joining);
  await transaction.updateTable("fleets").set({ peak_active_robots: peak }).where("id", "=", id).execute();
}

async function insertMembers(transaction: Transaction, fleetId: string, robotIds: readonly string[]): Promise<void> {
  const members = robotIds.map((robotId) => ({ fleet_id: fleetId, robot_id: robotId }));
  await transaction.insertInto("fleet_members").values(members).execute();
}

/** Replaces a fleet's update, if it has one, by `generation`; null only removes it. The fleet must be locked. */
export async function replaceUpdate(
  transaction: Transaction,
  fleet: Pick<Tables["fleets"], "id" | "update_generation_id">,
  generation: Tables["generations"] | null,
  now: string,
): Promise<void> {
  if (fleet.update_generation_id !== null) await supersede(transaction, fleet.update_generation_id, now);
  if (generation !== null) await transaction.insertInto("generations").values(generation).execute();
  await transaction
    .updateTable("fleets")
    .set({ update_generation_id: generation?.id ?? null })
    .where("id", "=", fleet.id)
    .execute();
}

/** Records that a fleet's active generation is ready for the first time. The fleet must be locked. */
export async function activateGeneration(transaction: Transaction, generationId: string, now: string): Promise<void> {
  await transaction
    .updateTable("generations")
    .set({ activated_at: now })
    .where("id", "=", generationId)
    .where("activated_at", "is", null)
    .execute();
}

/** Makes a fleet's update its active generation. The fleet must be locked. */
export async function promoteUpdate(
  transaction: Transaction,
  fleetId: string,
  { from, to }: { readonly from: string; readonly to: string },
  now: string,
): Promise<void> {
  await supersede(transaction, from, now);
  await activateGeneration(transaction, to, now);
  await transaction
    .updateTable("fleets")
    .set({ generation_id: to, update_generation_id: null })
    .where("id", "=", fleetId)
    .execute();
}

async function supersede(transaction: Transaction, generationId: string, now: string): Promise<void> {
  await transaction.updateTable("generations").set({ superseded_at: now }).where("id", "=", generationId).execute();
}

/** Removes a fleet at `now` (ISO 8601): its generations need no endpoints any more, and its name is free. The fleet must be locked. */
export async function removeLocked(
  transaction: Transaction,
  { id, organization_id: organizationId }: FleetKey,
  now: string,
): Promise<void> {
  await transaction.updateTable("fleets").set({ removed_at: now }).where("id", "=", id).execute();
  await transaction
    .updateTable("generations")
    .set({ superseded_at: now })
    .where("fleet_id", "=", id)
    .where("superseded_at", "is", null)
    .execute();
  await transaction.deleteFrom("fleet_members").where("fleet_id", "=", id).execute();
  await transaction
    .deleteFrom("fleet_windows")
    .where("organization_id", "=", organizationId)
    .where("fleet_id", "=", id)
    .execute();
}
