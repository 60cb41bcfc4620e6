import { inRange, type PageRange } from "../kernel/lists/pages.ts";
import { prepare } from "../kernel/store/prepared.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { loadFleetFacts, NOBODY_OFFLINE } from "./fact-queries.ts";
import type { FleetFacts } from "./readiness/fleet-facts.ts";

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

/** Identifies a fleet for tasks that process the fleets of all organizations. */
export type FleetKey = Pick<Tables["fleets"], "id" | "organization_id">;

/** Fleets per query that also reads their members: up to a thousand of each. */
export const FLEETS_AT_A_TIME = 5;

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
