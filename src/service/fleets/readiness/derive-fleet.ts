import type { WaitingCounts } from "../../../api/fleet-details.ts";
import type { FleetView } from "../../../api/fleets.ts";
import { isoTime } from "../../../platform/clock.ts";
import { preparationRange } from "../../endpoints/index.ts";
import type { AssessedFleet, Assessment } from "./assessment.ts";
import { needInWords } from "./blocker.ts";
import { type MemberGroup, robotsIn } from "./fleet-facts.ts";

/** A fleet view with every member present, null if there is no value. */
export type WholeFleetView = Required<FleetView> & {
  readonly update: Required<NonNullable<FleetView["update"]>> | null;
};

/** The view of a fleet. Derived from observations on each request, so that it cannot be stale. */
export function deriveFleet(fleet: AssessedFleet): WholeFleetView {
  const { facts, active, update } = fleet;
  const { blocker, generation } = active;
  const status = statusOf(fleet);
  return {
    id: facts.id,
    name: facts.name,
    subject: generation.subject,
    readiness_mode: facts.readiness_mode,
    peak_active_robots: facts.peak_active_robots,
    status,
    blocker: blocker === null ? null : needInWords(blocker),
    readiness_estimate: status === "preparing" ? estimateOf(fleet) : null,
    robots: countRobots(fleet),
    active_model: {
      subject: generation.subject,
      generation_id: generation.id,
      status: activeModelStatus(active),
    },
    update: update === null ? null : updateView(update),
  };
}

function statusOf(fleet: AssessedFleet): FleetView["status"] {
  const { position, active } = fleet;
  if (active.blocker !== null) return "blocked";
  if (active.generation.activated_at === null || position.state === "before") return "preparing";
  if (active.unable.length > 0) return "degraded";
  return active.isFailing && isCapacityExpected(fleet) ? "degraded" : "ready";
}

/** Whether the endpoints should be healthy now, within the windows. An idle `on_demand` fleet needs none until a robot asks. */
export function isCapacityExpected({ facts, active }: AssessedFleet): boolean {
  switch (facts.readiness_mode) {
    case "always_ready":
    case "scheduled":
      return true;
    case "on_demand":
      return active.able.some(({ deployment }) => deployment !== "none");
  }
}

/** Each robot is counted once: blocked, active, ready, or else waiting. */
function countRobots(fleet: AssessedFleet): FleetView["robots"] {
  const { able, unable } = fleet.active;
  const blocked = robotsIn(unable.map(({ group }) => group));
  const active = robotsIn(able.filter(isActive));
  const { endpoint, window, peak, robot } = countWaiting(fleet);
  const waiting = endpoint + window + peak + robot;
  const registered = blocked + robotsIn(able);
  return { registered, ready: registered - blocked - active - waiting, active, waiting, blocked };
}

/** The waiting robots by what they wait for: the robot itself, which is offline, else a window, else their endpoint, else a place below the peak. */
export function countWaiting({ facts, position, active: { able, endpoints } }: AssessedFleet): WaitingCounts {
  const robot = robotsIn(able.filter((group) => !isActive(group) && group.isOffline));
  const idle = able.filter((group) => !isActive(group) && !group.isOffline);
  if (position.state !== "within") return { endpoint: 0, window: robotsIn(idle), peak: 0, robot };
  const prepared = robotsIn(idle.filter(({ region }) => endpoints.get(region)?.health === "healthy"));
  const free = Math.max(0, facts.peak_active_robots - robotsIn(able.filter(isActive)));
  return { endpoint: robotsIn(idle) - prepared, window: 0, peak: Math.max(0, prepared - free), robot };
}

function isActive({ deployment }: MemberGroup): boolean {
  return deployment === "active";
}

function activeModelStatus({ generation, able }: Assessment): string {
  if (able.length === 0) return "blocked";
  return generation.activated_at === null ? "preparing" : "active";
}

function updateView({ generation, blocker, isObserved }: Assessment): NonNullable<WholeFleetView["update"]> {
  const { subject, id: generationId } = generation;
  if (blocker !== null) {
    return { subject, generation_id: generationId, status: "blocked", blocker: needInWords(blocker) };
  }
  return { subject, generation_id: generationId, status: isObserved ? "preparing" : "pending", blocker: null };
}

/** Time until the next window opens or until a preparation of observed length is over, whichever is later. */
function estimateOf({ nowMs, position, active }: AssessedFleet): FleetView["readiness_estimate"] {
  const { activated_at: activatedAt, created_at: createdAt, preparations } = active.generation;
  const elapsedSeconds = activatedAt === null ? Math.max(0, (nowMs - Date.parse(createdAt)) / 1000) : 0;
  const isPrepared = activatedAt !== null && active.isHealthy;
  const range = isPrepared ? { lowerSeconds: 0, upperSeconds: 0 } : preparationRange(preparations, elapsedSeconds);
  if (range === null) return null;
  const opensSeconds = position.state === "before" ? Math.ceil((position.startsMs - nowMs) / 1000) : 0;
  return {
    lower_seconds: Math.max(range.lowerSeconds, opensSeconds),
    upper_seconds: Math.max(range.upperSeconds, opensSeconds),
    updated_at: isoTime(nowMs),
  };
}
