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
import {
  countFleets,
  findFleetFacts,
  type FleetKey,
  insertFleet,
  lockFleet,
  removeLocked,
  replaceUpdate,
} from "./queries.ts";
import { type FleetFacts, type GenerationFacts, printWindows } from "./readiness/fleet-facts.ts";
import { membershipFindings, unknownSubject } from "./rules.ts";

/** Maximum fleets of one organization: lists and tasks read all. Concurrent requests may exceed it by a few. */
export const FLEETS_MAXIMUM = 10_000;

const FULL = refuse("Conflict", `An organization has ${FLEETS_MAXIMUM} fleets at most`);
export const UNKNOWN_FLEET = refuse("NotFound", "Fleet not found");

/** Creates a fleet of the robots that the selection names or matches now, and makes probes of its endpoints due. */
export async function makeFleet(
  transaction: Transaction,
  organizationId: string,
  body: FleetCreate,
  { fleetId, generationId }: { readonly fleetId: string; readonly generationId: string },
  author: Authorship,
): Promise<FleetFacts | Answer> {
  const { name, subject: wanted } = body;
  const subject = await resolveSubject(transaction, wanted);
  const robotIds = await selectMembers(transaction, organizationId, body.selection);
  const findings = membershipFindings(body, robotIds);
  if (subject === undefined) return refuseInvalid([unknownSubject(wanted), ...findings]);
  if (findings.length > 0) return refuseInvalid(findings);
  if ((await countFleets(transaction, organizationId)) >= FLEETS_MAXIMUM) return FULL;
  const { checkpoint_id: checkpointId } = subject;
  const fleet = {
    id: fleetId,
    organization_id: organizationId,
    name,
    peak_active_robots: body.peak_active_robots,
    readiness_mode: body.readiness_mode,
    operating_windows: printWindows(body.operating_windows),
    selection: printSelection(body.selection),
    generation_id: generationId,
    update_generation_id: null,
    created_at: author.at,
    removed_at: null,
  };
  const generation = newGeneration(generationId, fleetId, wanted, checkpointId, author.at);
  const members = robotIds.filter((id) => id !== null);
  if (!(await insertFleet(transaction, fleet, generation, members))) {
    return refuse("Conflict", `A fleet called ${JSON.stringify(name)} exists already`);
  }
  await bringProbesForward(transaction, checkpointId, author.at);
  const details = { name, subject: wanted, checkpoint_id: checkpointId, robots: robotIds.length };
  await audit(transaction, author, { action: "fleet.create", subjectId: fleetId, details });
  return loadFleet(transaction, fleet);
}

/** A fleet after a change that may have changed nothing. */
export interface Changed {
  readonly isChanged: boolean;
  readonly facts: FleetFacts;
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
  const before = await loadFleet(transaction, key);
  const { active, update } = before;
  const checkpointId = await wantedCheckpoint(transaction, wanted, active);
  if (checkpointId === undefined) return refuseInvalid([unknownSubject(wanted)]);
  if (checkpointId === (update ?? active).checkpoint_id) return { isChanged: false, facts: before };
  const isReturn = checkpointId === active.checkpoint_id;
  const generation = newGeneration(generationId, fleet.id, wanted, checkpointId, author.at);
  await replaceUpdate(transaction, fleet, isReturn ? null : generation, author.at);
  if (!isReturn) await bringProbesForward(transaction, checkpointId, author.at);
  const details = { subject: wanted, checkpoint_id: checkpointId, generation_id: isReturn ? active.id : generationId };
  await audit(transaction, author, { action: "fleet.update_model", subjectId: fleet.id, details });
  return { isChanged: true, facts: await loadFleet(transaction, key) };
}

/** Removes a fleet. Its robots and their deployments stay. @returns false if there is no such fleet. */
export async function removeFleetFrom(transaction: Transaction, key: FleetKey, author: Authorship): Promise<boolean> {
  const fleet = await lockFleet(transaction, key);
  if (fleet === undefined) return false;
  await removeLocked(transaction, key, author.at);
  await forgetReport(transaction, key.id);
  await audit(transaction, author, { action: "fleet.remove", subjectId: fleet.id, details: { name: fleet.name } });
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

/** The active subject remains valid when it has left the catalog, so that an update can still be cancelled. */
async function wantedCheckpoint(
  transaction: Transaction,
  wanted: string,
  active: GenerationFacts,
): Promise<string | undefined> {
  const subject = await resolveSubject(transaction, wanted);
  if (subject !== undefined) return subject.checkpoint_id;
  return wanted === active.subject || wanted === active.checkpoint_id ? active.checkpoint_id : undefined;
}

function newGeneration(
  id: string,
  fleetId: string,
  subject: string,
  checkpointId: string,
  createdAt: string,
): Tables["generations"] {
  return {
    id,
    fleet_id: fleetId,
    subject,
    checkpoint_id: checkpointId,
    created_at: createdAt,
    activated_at: null,
    superseded_at: null,
  };
}

/** Reads a fleet that must exist. */
export async function loadFleet(
  transaction: Transaction,
  { id, organization_id: organizationId }: FleetKey,
): Promise<FleetFacts> {
  const facts = await findFleetFacts(transaction, organizationId, id);
  if (facts === undefined) throw new Error(`The fleet ${id} is gone within its own transaction`);
  return facts;
}
