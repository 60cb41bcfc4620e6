import type { FleetNeed, FleetNeeds } from "../../../api/fleet-details.ts";
import { shown } from "../../../documents/texts.ts";
import { type EndpointFacts, unhealthySince } from "../../endpoints/index.ts";
import type { AssessedFleet, Assessment } from "./assessment.ts";
import { isRemoved, someMembersBlocked, someMembersRemoved } from "./blocker.ts";
import { countWaiting, isCapacityExpected } from "./derive-fleet.ts";
import { type GenerationFacts, robotsIn } from "./fleet-facts.ts";

/**
 * How long an endpoint may fail during the first preparation of a model before a person is needed: servers that load a model answer
 * with errors for minutes, and many do not run before a fleet chooses it. An endpoint that was healthy before and fails is reported
 * immediately.
 */
export const PREPARATION_PATIENCE_MS = 300_000;
/** Maximum number of endpoints that a need names; of the others it gives only the number. */
const ENDPOINTS_NAMED = 3;

/** The problems of a fleet that need attention, most urgent first, and what its waiting robots wait for. */
export function deriveNeeds(fleet: AssessedFleet): FleetNeeds {
  return {
    fleet_id: fleet.facts.id,
    needs: [...needsOfActive(fleet), ...needsOfUpdate(fleet)],
    waiting: countWaiting(fleet),
  };
}

function needsOfActive(fleet: AssessedFleet): readonly FleetNeed[] {
  const { facts, position, active } = fleet;
  if (active.blocker !== null) return [active.blocker];
  const removed = active.unable.filter(isRemoved);
  const unfit = active.unable.filter((each) => !isRemoved(each));
  const isUsed = active.generation.activated_at === null || (position.state === "within" && isCapacityExpected(fleet));
  return [
    ...(removed.length === 0 ? [] : [someMembersRemoved(facts, removed)]),
    ...(unfit.length === 0 ? [] : [someMembersBlocked(facts, active.generation.subject, unfit)]),
    ...(isUsed ? needOfEndpoints(fleet, active) : []),
  ];
}

function needsOfUpdate(fleet: AssessedFleet): readonly FleetNeed[] {
  const { update } = fleet;
  if (update === null) return [];
  const needs = update.blocker === null ? needOfEndpoints(fleet, update) : [update.blocker];
  return needs.map(({ reason, action }) => ({ reason: `Update: ${reason}`, action }));
}

/** One need for all endpoints of a generation that fail for longer than a preparation explains. */
function needOfEndpoints(
  { facts, nowMs }: AssessedFleet,
  { generation, able, endpoints }: Assessment,
): readonly FleetNeed[] {
  const failing = [...endpoints]
    .filter(([, endpoint]) => isOverdue(generation, endpoint, nowMs))
    .toSorted(([left], [right]) => (left < right ? -1 : 1));
  if (failing.length === 0) return [];
  const named = failing.slice(0, ENDPOINTS_NAMED).map(([region, endpoint], index) => {
    const which = index === 0 ? `The endpoint of ${shown(generation.subject)}` : "the one";
    return unhealthySince(`${which} in ${shown(region)}`, endpoint);
  });
  const others = failing.length - named.length;
  const regions = new Set(failing.map(([region]) => region));
  // No robot waits for an update: the fleet keeps its active model.
  const waiting =
    generation === facts.active
      ? robotsIn(able.filter(({ region, deployment }) => regions.has(region) && deployment !== "active"))
      : 0;
  const parts = [
    ...named,
    ...(others > 0 ? [`${others} more ${others === 1 ? "fails" : "fail"}`] : []),
    ...(waiting > 0 ? [`${waiting} of ${robotsIn(facts.members)} robots ${waiting === 1 ? "waits" : "wait"}`] : []),
  ];
  const pronoun = failing.length === 1 ? "it" : "them";
  return [
    {
      reason: `${parts.join("; ")}.`,
      action: `Get ${pronoun} to answer again, or update the fleet to another model.`,
    },
  ];
}

function isOverdue(
  { activated_at: activatedAt, created_at: createdAt }: GenerationFacts,
  { health, health_since: healthSince }: EndpointFacts,
  nowMs: number,
): boolean {
  if (health !== "failing") return false;
  if (activatedAt !== null) return true;
  if (healthSince === null) return false;
  return nowMs - Math.max(Date.parse(healthSince), Date.parse(createdAt)) >= PREPARATION_PATIENCE_MS;
}
