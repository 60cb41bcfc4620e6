import type { FleetNeed, FleetNeeds } from "../../../api/fleet-details.ts";
import { shown } from "../../../documents/texts.ts";
import { type EndpointFacts, unhealthySince } from "../../endpoints/index.ts";
import { assessActive, type Assessment, assessUpdate, neededEndpoints } from "./assessment.ts";
import { someMembersBlocked } from "./blocker.ts";
import { blockerOf, countWaiting, isCapacityExpected, positionOf, robotsIn, updateBlocker } from "./derive-fleet.ts";
import type { FleetFacts, GenerationFacts, WindowPosition } from "./fleet-facts.ts";

/**
 * How long an endpoint may fail during the first preparation of a model before a person is needed: servers that load a model answer
 * with errors for minutes, and many do not run before a fleet chooses it. An endpoint that was healthy before and fails is reported
 * immediately.
 */
export const PREPARATION_PATIENCE_MS = 300_000;
/** Maximum number of endpoints that a need names; of the others it gives only the number. */
const ENDPOINTS_NAMED = 3;

/** The problems of a fleet that need attention, most urgent first, and what its waiting robots wait for. */
export function deriveNeeds(facts: FleetFacts, nowMs: number): FleetNeeds {
  const assessment = assessActive(facts, nowMs);
  const position = positionOf(facts, nowMs);
  return {
    fleet_id: facts.id,
    needs: [...needsOfActive(facts, assessment, position, nowMs), ...needsOfUpdate(facts, nowMs)],
    waiting: countWaiting(facts, assessment, position),
  };
}

function needsOfActive(
  facts: FleetFacts,
  assessment: Assessment,
  position: WindowPosition,
  nowMs: number,
): readonly FleetNeed[] {
  const blocker = blockerOf(facts, assessment, position);
  if (blocker !== null) return [blocker];
  const { active, members } = facts;
  const { able, unable } = assessment;
  const isExpected = active.activated_at === null || (position.state === "within" && isCapacityExpected(facts, able));
  return [
    ...(unable.length === 0 ? [] : [someMembersBlocked(active.subject, unable, robotsIn(members))]),
    ...(isExpected ? needOfEndpoints(facts, active, assessment, nowMs) : []),
  ];
}

function needsOfUpdate(facts: FleetFacts, nowMs: number): readonly FleetNeed[] {
  const { update } = facts;
  if (update === null) return [];
  const blocker = updateBlocker(facts, update, nowMs);
  const needs =
    blocker === null ? needOfEndpoints(facts, update, assessUpdate(facts, update, nowMs), nowMs) : [blocker];
  return needs.map(({ reason, action }) => ({ reason: `Update: ${reason}`, action }));
}

/** One need for all endpoints of a generation that fail for longer than a preparation explains. */
function needOfEndpoints(
  { active, members }: FleetFacts,
  generation: GenerationFacts,
  { able }: Assessment,
  nowMs: number,
): readonly FleetNeed[] {
  const failing = [...neededEndpoints(able, generation)]
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
    generation === active
      ? robotsIn(able.filter(({ region, deployment }) => regions.has(region) && deployment !== "active"))
      : 0;
  const parts = [
    ...named,
    ...(others > 0 ? [`${others} more ${others === 1 ? "fails" : "fail"}`] : []),
    ...(waiting > 0 ? [`${waiting} of ${robotsIn(members)} robots ${waiting === 1 ? "waits" : "wait"}`] : []),
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
