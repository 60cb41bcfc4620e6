/**
 * Fleets: groups of robots that use one model. This file answers requests, each change in one transaction, which may run twice: so ids and
 * times are made before it. readiness/ derives the status of a fleet from observations, tasks.ts activates generations.
 */
import { type FleetCreate, type FleetModelUpdate } from "../../api/fleets.ts";
import type { PageQuery } from "../../api/wire/pages.ts";
import { isoNow, isoTime } from "../../platform/clock.ts";
import { bringProbesForward } from "../endpoints/index.ts";
import { type PresenceContext, storedOnlineSince } from "../identity/index.ts";
import { type Answer, answerValue, isAnswer, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { answerList, ITEMS, type List } from "../kernel/lists/answer-list.ts";
import type { PageRange } from "../kernel/lists/pages.ts";
import { authorship, type Handler, logChange, type OperationContext } from "../kernel/operation.ts";
import { audit, type Authorship } from "../kernel/store/audit.ts";
import { readSnapshot, type Transaction } from "../kernel/store/store.ts";
import { StoreBusyError } from "../kernel/store/unavailable.ts";
import { createFairQueue } from "../kernel/traffic/fair-queue.ts";
import { resolveSubject } from "../models/index.ts";
import { forgetReport } from "../webhooks/index.ts";
import {
  findFleetFacts,
  type FleetKey,
  FLEETS_AT_A_TIME,
  hasFleet,
  insertMembers,
  listFleetFacts,
  liveFleets,
  lockFleet,
  supersede,
  UNKNOWN_FLEET,
} from "./queries.ts";
import { type AssessedFleet, assessFleet } from "./readiness/assessment.ts";
import { deriveFleet } from "./readiness/derive-fleet.ts";
import { printWindows, windowsOf } from "./readiness/fleet-facts.ts";
import { deriveNeeds } from "./readiness/needs.ts";
import { fleetFindings, membershipFindings, unknownSubject } from "./rules.ts";
import { selectMembers } from "./selection.ts";

export type FleetsContext = OperationContext & PresenceContext;

/** Maximum fleets of one organization: lists and tasks read all. Concurrent requests may exceed it by a few. */
export const FLEETS_MAXIMUM = 10_000;

/** Lists of fleets that may wait for their turn. */
const WAITING_LISTS_MAXIMUM = { own: 64, all: 256 } as const;

const FULL = refuse("Conflict", `An organization has ${FLEETS_MAXIMUM} fleets at most`);

/** `POST /v1/fleets`: selects the members, creates the fleet, and makes probes of its endpoints due. */
export function createFleet(context: FleetsContext): Handler<FleetCreate> {
  const { newId, machine, nudge } = context;
  return async (call) => {
    const { principal, body } = call;
    const nowMs = machine.clock.wallMs();
    const findings = fleetFindings(body, nowMs);
    if (findings.length > 0) return refuseInvalid(findings);
    const key = { id: newId("fleet"), organization_id: principal.organizationId };
    const generationId = newId("gen");
    const author = authorship(call, newId, isoTime(nowMs));
    const refused = await call.write((transaction) => insertFleet(transaction, key, body, generationId, author));
    if (refused !== null) return refused;
    logChange(machine, "fleet_created", author, { fleet_id: key.id });
    nudge();
    return answerFleet(context, key);
  };
}

/** @returns null, or why there is no new fleet. */
async function insertFleet(
  transaction: Transaction,
  { id, organization_id: organizationId }: FleetKey,
  body: FleetCreate,
  generationId: string,
  author: Authorship,
): Promise<Answer | null> {
  const { name, subject: wanted } = body;
  const subject = await resolveSubject(transaction, wanted);
  const robotIds = await selectMembers(transaction, organizationId, body.selection);
  const findings = membershipFindings(body, robotIds);
  if (subject === undefined) return refuseInvalid([unknownSubject(wanted), ...findings]);
  if (findings.length > 0) return refuseInvalid(findings);
  const counted = liveFleets(transaction, organizationId).clearSelect();
  const { count } = await counted.select(({ fn }) => fn.countAll<number>().as("count")).executeTakeFirstOrThrow();
  if (count >= FLEETS_MAXIMUM) return FULL;
  const { checkpoint_id: checkpointId } = subject;
  const windows = windowsOf(body.operating_windows);
  const inserted = await transaction
    .insertInto("fleets")
    .values({
      id,
      organization_id: organizationId,
      name,
      peak_active_robots: body.peak_active_robots,
      readiness_mode: body.readiness_mode,
      operating_windows: printWindows(windows),
      selection: printSelection(body.selection),
      generation_id: generationId,
      created_at: author.at,
    })
    .onConflict((conflict) => conflict.columns(["organization_id", "name"]).where("removed_at", "is", null).doNothing())
    .returning("id")
    .executeTakeFirst();
  // Also where a fleet with this name is created concurrently.
  if (inserted === undefined) return refuse("Conflict", `A fleet called ${JSON.stringify(name)} exists already`);
  await beginGeneration(transaction, { id: generationId, fleet_id: id, subject: wanted, checkpointId, at: author.at });
  const members = robotIds.filter((robotId) => robotId !== null);
  await insertMembers(transaction, id, members);
  // Once more, for queries of what begins and ends next.
  const rows = windows.map(({ startsMs, endsMs }) => {
    return { organization_id: organizationId, fleet_id: id, starts_ms: startsMs, ends_ms: endsMs };
  });
  if (rows.length > 0) await transaction.insertInto("fleet_windows").values(rows).execute();
  const details = { name, subject: wanted, checkpoint_id: checkpointId, robots: members.length };
  await audit(transaction, author, { action: "fleet.create", subjectId: id, details });
  return null;
}

/** The selection as the store keeps it: with every member of a selector. */
function printSelection({ selector }: FleetCreate["selection"]): string {
  if (selector === null || selector === undefined) return JSON.stringify({ kind: "robots", selector: null });
  const { site = null, region = null, robot_type_id: robotTypeId = null, labels = {} } = selector;
  return JSON.stringify({ kind: "selector", selector: { site, region, robot_type_id: robotTypeId, labels } });
}

/** `POST /v1/fleets/{fleet_id}/model`: creates a generation, which replaces the active one once it is ready. */
export function updateFleetModel(context: FleetsContext): Handler<FleetModelUpdate> {
  const { newId, machine, nudge } = context;
  return async (call) => {
    const { subject } = call.body;
    const key = { id: call.path["fleet_id"] ?? "", organization_id: call.principal.organizationId };
    const generationId = newId("gen");
    const author = authorship(call, newId, isoNow(machine.clock));
    const changed = await call.write((transaction) => updateModel(transaction, key, subject, generationId, author));
    if (isAnswer(changed)) return changed;
    if (changed.isChanged) {
      logChange(machine, "fleet_model_updated", author, { fleet_id: key.id, subject });
      nudge();
    }
    return answerFleet(context, key);
  };
}

/**
 * Starts an update to the wanted subject and replaces one in progress. Wanting the active subject cancels the update in progress. Nothing
 * changes if that checkpoint already is the active one or the update.
 */
async function updateModel(
  transaction: Transaction,
  key: FleetKey,
  wanted: string,
  generationId: string,
  { at, ...by }: Authorship,
): Promise<{ readonly isChanged: boolean } | Answer> {
  const fleet = await lockFleet(transaction, key);
  if (fleet === undefined) return UNKNOWN_FLEET;
  const { id: fleetId, generation_id: activeId, update_generation_id: updateId } = fleet;
  const generations = await transaction
    .selectFrom("generations")
    .select(["id", "subject", "checkpoint_id"])
    .where("id", "in", [activeId, updateId ?? activeId])
    .execute();
  const active = generations.find(({ id }) => id === activeId);
  const current = generations.find(({ id }) => id === (updateId ?? activeId));
  const subject = await resolveSubject(transaction, wanted);
  // The active subject remains valid when it has left the catalog, so that an update can still be cancelled.
  const isActive = wanted === active?.subject || wanted === active?.checkpoint_id;
  const checkpointId = subject?.checkpoint_id ?? (isActive ? active?.checkpoint_id : undefined);
  if (checkpointId === undefined) return refuseInvalid([unknownSubject(wanted)]);
  if (checkpointId === current?.checkpoint_id) return { isChanged: false };
  const isReturn = checkpointId === active?.checkpoint_id;
  if (updateId !== null) await supersede(transaction, updateId, at);
  if (!isReturn) {
    await beginGeneration(transaction, { id: generationId, fleet_id: fleetId, subject: wanted, checkpointId, at });
  }
  await transaction
    .updateTable("fleets")
    .set({ update_generation_id: isReturn ? null : generationId })
    .where("id", "=", fleetId)
    .execute();
  const details = { subject: wanted, checkpoint_id: checkpointId, generation_id: isReturn ? activeId : generationId };
  await audit(transaction, { at, ...by }, { action: "fleet.update_model", subjectId: fleetId, details });
  return { isChanged: true };
}

/** Adds a generation, and makes probes of the endpoints that it needs due. */
async function beginGeneration(
  transaction: Transaction,
  {
    checkpointId,
    at,
    ...generation
  }: {
    readonly id: string;
    readonly fleet_id: string;
    readonly subject: string;
    readonly checkpointId: string;
    readonly at: string;
  },
): Promise<void> {
  const row = { ...generation, checkpoint_id: checkpointId, created_at: at };
  await transaction.insertInto("generations").values(row).execute();
  await bringProbesForward(transaction, checkpointId, at);
}

/** `DELETE /v1/fleets/{fleet_id}`: its robots and their deployments stay. */
export function removeFleet({ newId, machine, nudge }: OperationContext): Handler<null> {
  return async (call) => {
    const key = { id: call.path["fleet_id"] ?? "", organization_id: call.principal.organizationId };
    const author = authorship(call, newId, isoNow(machine.clock));
    if (!(await call.write((transaction) => endFleet(transaction, key, author)))) return UNKNOWN_FLEET;
    logChange(machine, "fleet_removed", author, { fleet_id: key.id });
    nudge();
    return answerValue({ fleet_id: key.id, removed_at: author.at });
  };
}

/** Its generations need no endpoints any more, and its name is free. @returns false if there is no such fleet. */
async function endFleet(transaction: Transaction, key: FleetKey, author: Authorship): Promise<boolean> {
  const fleet = await lockFleet(transaction, key);
  if (fleet === undefined) return false;
  const { id, name } = fleet;
  await transaction.updateTable("fleets").set({ removed_at: author.at }).where("id", "=", id).execute();
  await transaction
    .updateTable("generations")
    .set({ superseded_at: author.at })
    .where("fleet_id", "=", id)
    .where("superseded_at", "is", null)
    .execute();
  await transaction.deleteFrom("fleet_members").where("fleet_id", "=", id).execute();
  await transaction.deleteFrom("fleet_windows").where("fleet_id", "=", id).execute();
  await forgetReport(transaction, id);
  await audit(transaction, author, { action: "fleet.remove", subjectId: id, details: { name } });
  return true;
}

/** `GET /v1/fleets`: every fleet of the organization, oldest first. */
export function listFleets(context: FleetsContext): Handler<null, PageQuery> {
  return answerFleets(context, ["[", "]"], deriveFleet);
}

/** `GET /v1/me/fleet-needs`: what needs attention in each fleet, oldest fleet first. */
export function listFleetNeeds(context: FleetsContext): Handler<null, PageQuery> {
  return answerFleets(context, ITEMS, deriveNeeds);
}

function answerFleets(
  context: FleetsContext,
  around: List<never>["around"],
  derive: (fleet: AssessedFleet) => unknown,
): Handler<null, PageQuery> {
  const { store, machine } = context;
  // A snapshot keeps a connection while the members of its fleets are judged, and other requests need one, too: so lists take turns.
  const turns = createFairQueue(WAITING_LISTS_MAXIMUM);
  async function fetch(organizationId: string, range: PageRange) {
    if (!(await hasFleet(store.lookup, organizationId, range.after))) return [];
    const nowMs = machine.clock.wallMs();
    const onlineSince = storedOnlineSince(nowMs, context);
    const fleets = await turns.run(organizationId, () =>
      readSnapshot(store.reader, (snapshot) => listFleetFacts(snapshot, organizationId, range, onlineSince)),
    );
    if (fleets === null) throw new StoreBusyError("Too many lists of fleets wait");
    return fleets.map((facts) => ({ id: facts.id, fleet: assessFleet(facts, nowMs) }));
  }
  return (call) =>
    answerList(call, {
      prefix: "fleet",
      around,
      fetchedRows: FLEETS_AT_A_TIME,
      fetch: (range) => fetch(call.principal.organizationId, range),
      view: ({ fleet }) => derive(fleet),
    });
}

/** `GET /v1/fleets/{fleet_id}`. */
export function getFleet(context: FleetsContext): Handler<null> {
  return ({ principal, path }) =>
    answerFleet(context, { id: path["fleet_id"] ?? "", organization_id: principal.organizationId });
}

/** The view of a fleet now, also after a change of it. */
export async function answerFleet(context: FleetsContext, { id, organization_id }: FleetKey): Promise<Answer> {
  const { store, machine } = context;
  const nowMs = machine.clock.wallMs();
  const onlineSince = storedOnlineSince(nowMs, context);
  const facts = await readSnapshot(store.reader, (snapshot) =>
    findFleetFacts(snapshot, organization_id, id, onlineSince),
  );
  return facts === undefined ? UNKNOWN_FLEET : answerValue(deriveFleet(assessFleet(facts, nowMs)));
}
