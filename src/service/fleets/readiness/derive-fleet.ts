import type { FleetNeed, WaitingCounts } from "../../../api/fleet-details.ts";
import type { FleetView } from "../../../api/fleets.ts";
import { isoTime } from "../../../platform/clock.ts";
import { preparationRange } from "../../endpoints/index.ts";
import { assessActive, type Assessment, assessUpdate } from "./assessment.ts";
import { allMembersBlocked, allWindowsPast, needInWords, someMembersBlocked } from "./blocker.ts";
import {
  type FleetFacts,
  type GenerationFacts,
  type MemberGroup,
  positionIn,
  type WindowPosition,
} from "./fleet-facts.ts";

/** A fleet view with every member present, null if there is no value. */
export type WholeFleetView = Required<FleetView> & {
  readonly update: Required<NonNullable<FleetView["update"]>> | null;
};

/** The view of a fleet at `nowMs`. Derived from observations on each request, so that it cannot be stale. */
export function deriveFleet(facts: FleetFacts, nowMs: number): WholeFleetView {
  const position = positionOf(facts, nowMs);
  const assessment = assessActive(facts, nowMs);
  const blocker = blockerOf(facts, assessment, position);
  const status = statusOf(facts, assessment, position, blocker);
  return {
    id: facts.id,
    name: facts.name,
    subject: facts.active.subject,
    readiness_mode: facts.readiness_mode,
    peak_active_robots: facts.peak_active_robots,
    status,
    blocker: blocker === null ? null : needInWords(blocker),
    readiness_estimate: status === "preparing" ? estimateOf(facts.active, assessment, position, nowMs) : null,
    robots: countRobots(facts, assessment, position),
    active_model: {
      subject: facts.active.subject,
      generation_id: facts.active.id,
      status: activeModelStatus(facts.active, assessment),
    },
    update: facts.update === null ? null : updateView(facts, facts.update, nowMs),
  };
}

const ALWAYS_WITHIN: WindowPosition = { state: "within" };

/** The position of `nowMs` in the fleet's windows; a fleet without a schedule is always within. */
export function positionOf({ readiness_mode: readinessMode, windows }: FleetFacts, nowMs: number): WindowPosition {
  return readinessMode === "scheduled" ? positionIn(windows, nowMs) : ALWAYS_WITHIN;
}

/** Why the fleet cannot become ready until a person does something; null if it can. */
export function blockerOf(
  { active }: FleetFacts,
  { able, unable }: Assessment,
  position: WindowPosition,
): FleetNeed | null {
  if (able.length === 0) return allMembersBlocked(active.subject, unable);
  return position.state === "after" ? allWindowsPast() : null;
}

function statusOf(
  facts: FleetFacts,
  { able, unable, isFailing }: Assessment,
  position: WindowPosition,
  blocker: FleetNeed | null,
): FleetView["status"] {
  if (blocker !== null) return "blocked";
  if (facts.active.activated_at === null || position.state === "before") return "preparing";
  if (unable.length > 0) return "degraded";
  return isFailing && isCapacityExpected(facts, able) ? "degraded" : "ready";
}

/** Whether the endpoints should be healthy now, within the windows. An idle `on_demand` fleet needs none until a robot asks. */
export function isCapacityExpected(
  { readiness_mode: readinessMode }: FleetFacts,
  able: readonly MemberGroup[],
): boolean {
  switch (readinessMode) {
    case "always_ready":
    case "scheduled":
      return true;
    case "on_demand":
      return able.some(({ deployment }) => deployment !== "none");
  }
}

/** Each robot is counted once: blocked, active, ready, or else waiting. */
function countRobots(facts: FleetFacts, assessment: Assessment, position: WindowPosition): FleetView["robots"] {
  const { able, unable } = assessment;
  const blocked = robotsIn(unable.map(({ group }) => group));
  const active = robotsIn(able.filter(isActive));
  const { endpoint, window, peak, robot } = countWaiting(facts, assessment, position);
  const waiting = endpoint + window + peak + robot;
  const registered = blocked + robotsIn(able);
  return { registered, ready: registered - blocked - active - waiting, active, waiting, blocked };
}

/** The waiting robots by what they wait for: the robot itself, which is offline, else a window, else their endpoint, else room below the peak. */
export function countWaiting(
  { active, peak_active_robots: peakActiveRobots }: FleetFacts,
  { able }: Assessment,
  position: WindowPosition,
): WaitingCounts {
  const robot = robotsIn(able.filter((group) => !isActive(group) && group.isOffline));
  const idle = able.filter((group) => !isActive(group) && !group.isOffline);
  if (position.state !== "within") return { endpoint: 0, window: robotsIn(idle), peak: 0, robot };
  const prepared = robotsIn(idle.filter(({ region }) => active.endpoints.get(region)?.health === "healthy"));
  const room = Math.max(0, peakActiveRobots - robotsIn(able.filter(isActive)));
  return { endpoint: robotsIn(idle) - prepared, window: 0, peak: Math.max(0, prepared - room), robot };
}

function isActive({ deployment }: MemberGroup): boolean {
  return deployment === "active";
}

function activeModelStatus({ activated_at: activatedAt }: GenerationFacts, { able }: Assessment): string {
  if (able.length === 0) return "blocked";
  return activatedAt === null ? "preparing" : "active";
}

function updateView(facts: FleetFacts, update: GenerationFacts, nowMs: number): NonNullable<WholeFleetView["update"]> {
  const { subject, id: generationId } = update;
  const blocker = updateBlocker(facts, update, nowMs);
  if (blocker !== null)
    return { subject, generation_id: generationId, status: "blocked", blocker: needInWords(blocker) };
  const { isObserved } = assessUpdate(facts, update, nowMs);
  return { subject, generation_id: generationId, status: isObserved ? "preparing" : "pending", blocker: null };
}

/** Why an update may not replace the active generation: no robot can run it, or robots that can run the active one cannot. */
export function updateBlocker(facts: FleetFacts, update: GenerationFacts, nowMs: number): FleetNeed | null {
  const { able, unable } = assessUpdate(facts, update, nowMs);
  const members = robotsIn(facts.members);
  if (members === 0) return allMembersBlocked(update.subject, unable);
  if (able.length === 0) return someMembersBlocked(update.subject, unable, members);
  const working = new Set(assessActive(facts, nowMs).able);
  const lost = unable.filter(({ group }) => working.has(group));
  return lost.length === 0 ? null : someMembersBlocked(update.subject, lost, members);
}

/** Time until the next window opens or until a preparation of observed length is over, whichever is later. */
function estimateOf(
  { activated_at: activatedAt, created_at: createdAt, preparations }: GenerationFacts,
  { isHealthy }: Assessment,
  position: WindowPosition,
  nowMs: number,
): FleetView["readiness_estimate"] {
  const elapsedSeconds = activatedAt === null ? Math.max(0, (nowMs - Date.parse(createdAt)) / 1000) : 0;
  const isPrepared = activatedAt !== null && isHealthy;
  const range = isPrepared ? { lowerSeconds: 0, upperSeconds: 0 } : preparationRange(preparations, elapsedSeconds);
  if (range === null) return null;
  const opensSeconds = position.state === "before" ? Math.ceil((position.startsMs - nowMs) / 1000) : 0;
  return {
    lower_seconds: Math.max(range.lowerSeconds, opensSeconds),
    upper_seconds: Math.max(range.upperSeconds, opensSeconds),
    updated_at: isoTime(nowMs),
  };
}

export function robotsIn(groups: readonly MemberGroup[]): number {
  return groups.reduce((sum, { count }) => sum + count, 0);
}
