import type { FleetNeed, FleetNeeds } from "../../../api/fleet-details.ts";
import { shown } from "../../../documents/texts.ts";
import { type EndpointFacts, unhealthySince } from "../../endpoints/index.ts";
import type { AssessedFleet, Assessment } from "./assessment.ts";
import { someMembersBlocked, someMembersRemoved } from "./blocker.ts";
import { countMembers, isCapacityExpected } from "./derive-fleet.ts";
import { type GenerationFacts, robotsIn } from "./fleet-facts.ts";

/**
 * How long an endpoint may fail during the first preparation of a model before a person is needed: servers that load a model answer
 * with errors for minutes, and many do not run before a fleet chooses it. An endpoint that was healthy before and fails is reported
 * immediately.
 */
export const PREPARATION_PATIENCE_MS = 300_000;

/** The problems of a fleet that need attention, most urgent first, and what its waiting robots wait for. */
export function deriveNeeds(fleet: AssessedFleet): FleetNeeds {
  const { endpoint, window, peak, robot } = countMembers(fleet);
  return {
    fleet_id: fleet.facts.id,
    needs: [...needsOfActive(fleet), ...needsOfUpdate(fleet)],
    waiting: { endpoint, window, peak, robot },
  };
}

function needsOfActive(fleet: AssessedFleet): readonly FleetNeed[] {
  const { facts, position, active } = fleet;
  if (active.blocker !== null) return [active.blocker];
  const removed = [...active.unable.keys()].filter(({ isRemoved }) => isRemoved);
  const unfit = new Map([...active.unable].filter(([{ isRemoved }]) => !isRemoved));
  const isUsed = active.generation.activated_at === null || (position.state === "within" && isCapacityExpected(fleet));
  return [
    ...(removed.length === 0 ? [] : [someMembersRemoved(facts, removed)]),
    ...(unfit.size === 0 ? [] : [someMembersBlocked(facts, active.generation.subject, unfit)]),
    ...(isUsed ? needsOfEndpoints(fleet, active) : []),
  ];
}

function needsOfUpdate(fleet: AssessedFleet): readonly FleetNeed[] {
  const { update } = fleet;
  if (update === null) return [];
  const needs = update.blocker === null ? needsOfEndpoints(fleet, update) : [update.blocker];
  return needs.map(({ reason, action }) => ({ reason: `Update: ${reason}`, action }));
}

/** A need for each endpoint of a generation that fails for longer than a preparation explains. */
function needsOfEndpoints(
  { facts, nowMs }: AssessedFleet,
  { generation, able, endpoints }: Assessment,
): readonly FleetNeed[] {
  const failing = [...endpoints].filter(([, endpoint]) => isOverdue(generation, endpoint, nowMs));
  return failing
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([region, endpoint]) => {
      const which = `The endpoint of ${shown(generation.subject)} in ${shown(region)}`;
      // No robot waits for an update: the fleet keeps its active model.
      const isAwaited = generation === facts.active;
      const idle = able.filter((group) => isAwaited && group.region === region && group.deployment !== "active");
      const waiting = robotsIn(idle);
      const of = `${waiting} of ${robotsIn(facts.members)} robots ${waiting === 1 ? "waits" : "wait"}`;
      return {
        reason: `${unhealthySince(which, endpoint)}${waiting === 0 ? "" : `; ${of}`}.`,
        action: "Get it to answer again, or update the fleet to another model.",
      };
    });
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
