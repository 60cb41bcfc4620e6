/**
 * Fleets: groups of robots that use one model. This file answers requests; changes.ts creates and updates fleets, readiness/ derives
 * their status from observations, tasks.ts activates generations.
 */
import type { FleetCreate, FleetModelUpdate } from "../../api/fleets.ts";
import type { PageQuery } from "../../api/wire/pages.ts";
import { isoNow, isoTime } from "../../platform/clock.ts";
import { type Answer, answerValue, isAnswer, refuseInvalid } from "../kernel/http/answers.ts";
import { answerList, ITEMS, type List } from "../kernel/lists/answer-list.ts";
import type { PageRange } from "../kernel/lists/pages.ts";
import { type PresenceContext, storedOnlineSince } from "../identity/index.ts";
import { authorship, type Handler, logChange, type OperationContext } from "../kernel/operation.ts";
import { readSnapshot } from "../kernel/store/store.ts";
import { StoreBusyError } from "../kernel/store/unavailable.ts";
import { createFairQueue } from "../kernel/traffic/fair-queue.ts";
import { makeFleet, removeFleetFrom, UNKNOWN_FLEET, updateModel } from "./changes.ts";
import { findFleetFacts, type FleetKey, FLEETS_AT_A_TIME, hasFleet, listFleetFacts } from "./queries.ts";
import { type AssessedFleet, assessFleet } from "./readiness/assessment.ts";
import { deriveFleet } from "./readiness/derive-fleet.ts";
import { deriveNeeds } from "./readiness/needs.ts";
import { fleetFindings } from "./rules.ts";

/** Lists of fleets that may wait for their turn. */
const WAITING_LISTS_MAXIMUM = { own: 64, all: 256 } as const;

/** `POST /v1/fleets`: selects the members and creates the fleet in one transaction. */
export function createFleet(context: FleetsContext): Handler<FleetCreate> {
  const { newId, machine, nudge } = context;
  return async (call) => {
    const { principal, body } = call;
    const nowMs = machine.clock.wallMs();
    const findings = fleetFindings(body, nowMs);
    if (findings.length > 0) return refuseInvalid(findings);
    const ids = { fleetId: newId("fleet"), generationId: newId("gen") };
    const author = authorship(call, newId, isoTime(nowMs));
    const made = await call.write((transaction) => makeFleet(transaction, principal.organizationId, body, ids, author));
    if (isAnswer(made)) return made;
    logChange(machine, "fleet_created", author, { fleet_id: ids.fleetId });
    nudge();
    return answerFleet(context, { id: ids.fleetId, organization_id: principal.organizationId });
  };
}

export type FleetsContext = OperationContext & PresenceContext;

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

/** `POST /v1/fleets/{fleet_id}/model`: creates a generation, which replaces the active one once it is ready. */
export function updateFleetModel(context: FleetsContext): Handler<FleetModelUpdate> {
  const { newId, machine, nudge } = context;
  return async (call) => {
    const { subject } = call.body;
    const id = call.path["fleet_id"] ?? "";
    const generationId = newId("gen");
    const author = authorship(call, newId, isoNow(machine.clock));
    const key = { id, organization_id: call.principal.organizationId };
    const changed = await call.write((transaction) => updateModel(transaction, key, subject, generationId, author));
    if (isAnswer(changed)) return changed;
    if (changed.isChanged) {
      logChange(machine, "fleet_model_updated", author, { fleet_id: id, subject });
      nudge();
    }
    return answerFleet(context, key);
  };
}

/** `DELETE /v1/fleets/{fleet_id}`: its robots and their deployments stay. */
export function removeFleet({ newId, machine, nudge }: OperationContext): Handler<null> {
  return async (call) => {
    const id = call.path["fleet_id"] ?? "";
    const at = isoNow(machine.clock);
    const author = authorship(call, newId, at);
    const key = { id, organization_id: call.principal.organizationId };
    if (!(await call.write((transaction) => removeFleetFrom(transaction, key, author)))) return UNKNOWN_FLEET;
    logChange(machine, "fleet_removed", author, { fleet_id: id });
    nudge();
    return answerValue({ fleet_id: id, removed_at: at });
  };
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
