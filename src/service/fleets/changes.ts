/** Changes of fleets. Each function runs in one transaction, which may run twice: so ids and times are parameters. */
import { type FleetCreate, SELECTION_ROBOTS_COUNT } from "../../api/fleets.ts";
import { bringProbesForward } from "../endpoints/index.ts";
import { type Answer, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { audit, type Authorship } from "../kernel/store/audit.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { resolveSubject } from "../models/index.ts";
import { forgetReport } from "../webhooks/index.ts";
import { findRobotIds, selectRobotIds } from "./member-queries.ts";
import { type FleetKey, insertMembers, liveFleets, lockFleet, supersede } from "./queries.ts";
import { parseWindows, printWindows, windowsOf } from "./readiness/fleet-facts.ts";
import { membershipFindings, unknownSubject } from "./rules.ts";

/** Maximum fleets of one organization: lists and tasks read all. Concurrent requests may exceed it by a few. */
export const FLEETS_MAXIMUM = 10_000;

const FULL = refuse("Conflict", `An organization has ${FLEETS_MAXIMUM} fleets at most`);
export const UNKNOWN_FLEET = refuse("NotFound", "Fleet not found");

/** What a change did that was not refused. */
export interface Changed {
  readonly isChanged: boolean;
}

/** Creates a fleet of the robots that the selection names or matches now, and makes probes of its endpoints due. */
export async function makeFleet(
  transaction: Transaction,
  organizationId: string,
  body: FleetCreate,
  { fleetId, generationId }: { readonly fleetId: string; readonly generationId: string },
  author: Authorship,
): Promise<Changed | Answer> {
  const { name, subject: wanted } = body;
  const subject = await resolveSubject(transaction, wanted);
  const robotIds = await selectMembers(transaction, organizationId, body.selection);
  const findings = membershipFindings(body, robotIds);
  if (subject === undefined) return refuseInvalid([unknownSubject(wanted), ...findings]);
  if (findings.length > 0) return refuseInvalid(findings);
  if ((await countFleets(transaction, organizationId)) >= FLEETS_MAXIMUM) return FULL;
  const { checkpoint_id: checkpointId } = subject;
  const windows = printWindows(body.operating_windows);
  const inserted = await transaction
    .insertInto("fleets")
    .values({
      id: fleetId,
      organization_id: organizationId,
      name,
      peak_active_robots: body.peak_active_robots,
      readiness_mode: body.readiness_mode,
      operating_windows: windows,
      selection: printSelection(body.selection),
      generation_id: generationId,
      update_generation_id: null,
      created_at: author.at,
      removed_at: null,
    })
    .onConflict((conflict) => conflict.columns(["organization_id", "name"]).where("removed_at", "is", null).doNothing())
    .returning("id")
    .executeTakeFirst();
  // Also where a fleet with this name is created concurrently.
  if (inserted === undefined) return refuse("Conflict", `A fleet called ${JSON.stringify(name)} exists already`);
  await insertGeneration(transaction, generationId, fleetId, wanted, checkpointId, author.at);
  await insertMembers(
    transaction,
    fleetId,
    robotIds.filter((id) => id !== null),
  );
  await insertWindows(transaction, organizationId, fleetId, windows);
  await bringProbesForward(transaction, checkpointId, author.at);
  const details = { name, subject: wanted, checkpoint_id: checkpointId, robots: robotIds.length };
  await audit(transaction, author, { action: "fleet.create", subjectId: fleetId, details });
  return { isChanged: true };
}

/**
 * Starts an update to the wanted subject and replaces one in progress. Wanting the active subject cancels the update in progress. Nothing
 * changes if that checkpoint already is the active one or the update.
 */
export async function updateModel(
  transaction: Transaction,
  key: FleetKey,
  wanted: string,
  generationId: string,
  author: Authorship,
): Promise<Changed | Answer> {
  const fleet = await lockFleet(transaction, key);
  if (fleet === undefined) return UNKNOWN_FLEET;
  const { update_generation_id: updateId } = fleet;
  const active = await findGeneration(transaction, fleet.generation_id);
  const current = updateId === null ? active : await findGeneration(transaction, updateId);
  const subject = await resolveSubject(transaction, wanted);
  // The active subject remains valid when it has left the catalog, so that an update can still be cancelled.
  const isActive = wanted === active.subject || wanted === active.checkpoint_id;
  const checkpointId = subject?.checkpoint_id ?? (isActive ? active.checkpoint_id : undefined);
  if (checkpointId === undefined) return refuseInvalid([unknownSubject(wanted)]);
  if (checkpointId === current.checkpoint_id) return { isChanged: false };
  const isReturn = checkpointId === active.checkpoint_id;
  if (updateId !== null) await supersede(transaction, updateId, author.at);
  if (!isReturn) {
    await insertGeneration(transaction, generationId, fleet.id, wanted, checkpointId, author.at);
    await bringProbesForward(transaction, checkpointId, author.at);
  }
  await transaction
    .updateTable("fleets")
    .set({ update_generation_id: isReturn ? null : generationId })
    .where("id", "=", fleet.id)
    .execute();
  const details = { subject: wanted, checkpoint_id: checkpointId, generation_id: isReturn ? active.id : generationId };
  await audit(transaction, author, { action: "fleet.update_model", subjectId: fleet.id, details });
  return { isChanged: true };
}

/**
 * Removes a fleet: its generations need no endpoints any more, and its name is free. Its robots and their deployments stay.
 *
 * @returns false if there is no such fleet.
 */
export async function removeFleetFrom(transaction: Transaction, key: FleetKey, author: Authorship): Promise<boolean> {
  const fleet = await lockFleet(transaction, key);
  if (fleet === undefined) return false;
  const { id } = fleet;
  await transaction.updateTable("fleets").set({ removed_at: author.at }).where("id", "=", id).execute();
  await transaction
    .updateTable("generations")
    .set({ superseded_at: author.at })
    .where("fleet_id", "=", id)
    .where("superseded_at", "is", null)
    .execute();
  await transaction.deleteFrom("fleet_members").where("fleet_id", "=", id).execute();
  await transaction
    .deleteFrom("fleet_windows")
    .where("organization_id", "=", key.organization_id)
    .where("fleet_id", "=", id)
    .execute();
  await forgetReport(transaction, id);
  await audit(transaction, author, { action: "fleet.remove", subjectId: id, details: { name: fleet.name } });
  return true;
}

/** Ids of the named robots in the order of the request, null for unknown names; or of the robots that the selector matches. */
export async function selectMembers(
  reader: Reader,
  organizationId: string,
  { robots, selector }: Pick<FleetCreate["selection"], "robots" | "selector">,
): Promise<readonly (string | null)[]> {
  if (robots === null || robots === undefined) {
    return selectRobotIds(reader, organizationId, selector ?? {}, SELECTION_ROBOTS_COUNT.maximum);
  }
  const ids = await findRobotIds(reader, organizationId, robots);
  return robots.map((robot) => ids.get(robot) ?? null);
}

/** The selection as the store keeps it: with every member of a selector, so that equal selectors have equal texts. */
function printSelection({ selector }: FleetCreate["selection"]): string {
  if (selector === null || selector === undefined) return JSON.stringify({ kind: "robots", selector: null });
  const { site = null, region = null, robot_type_id: robotTypeId = null, labels = {} } = selector;
  return JSON.stringify({ kind: "selector", selector: { site, region, robot_type_id: robotTypeId, labels } });
}

async function countFleets(transaction: Transaction, organizationId: string): Promise<number> {
  const fleets = liveFleets(transaction, organizationId).clearSelect();
  const counted = fleets.select(({ fn }) => fn.countAll<number>().as("count"));
  return (await counted.executeTakeFirstOrThrow()).count;
}

function findGeneration(transaction: Transaction, id: string): Promise<Tables["generations"]> {
  return transaction.selectFrom("generations").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
}

async function insertGeneration(
  transaction: Transaction,
  id: string,
  fleetId: string,
  subject: string,
  checkpointId: string,
  createdAt: string,
): Promise<void> {
  const generation = { id, fleet_id: fleetId, subject, checkpoint_id: checkpointId, created_at: createdAt };
  await transaction.insertInto("generations").values(generation).execute();
}

/** The windows of a fleet once more, for queries of what begins and ends next. */
async function insertWindows(
  transaction: Transaction,
  organizationId: string,
  fleetId: string,
  printed: string,
): Promise<void> {
  const rows = windowsOf(parseWindows(printed)).map(({ startsMs, endsMs }) => {
    return { organization_id: organizationId, fleet_id: fleetId, starts_ms: startsMs, ends_ms: endsMs };
  });
  if (rows.length > 0) await transaction.insertInto("fleet_windows").values(rows).execute();
}
