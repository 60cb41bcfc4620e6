import type { WaitingCounts } from "../../../api/fleet-details.ts";
import type { FleetView } from "../../../api/fleets.ts";
import { isoTime } from "../../../platform/clock.ts";
import { preparationRange } from "../../endpoints/index.ts";
import type { AssessedFleet, Assessment } from "./assessment.ts";
import { needInWords } from "./blocker.ts";
import type { MemberGroup } from "./fleet-facts.ts";

/** A fleet view with every member present, null if there is no value. */
export type WholeFleetView = ReturnType<typeof deriveFleet>;

/** The view of a fleet. Derived from observations on each request, so that it cannot be stale. */
export function deriveFleet(fleet: AssessedFleet) {
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
    robots: robotCounts(fleet),
    active_model: {
      subject: generation.subject,
      generation_id: generation.id,
      status: activeModelStatus(active),
    },
    update: update === null ? null : updateView(update),
  } satisfies FleetView;
}

function statusOf(fleet: AssessedFleet): FleetView["status"] {
  const { position, active } = fleet;
  if (active.blocker !== null) return "blocked";
  if (active.generation.activated_at === null || position.state === "before") return "preparing";
  if (active.unable.size > 0) return "degraded";
  return active.isFailing && isCapacityExpected(fleet) ? "degraded" : "ready";
}

/** Whether the endpoints should be healthy now, within the windows. An idle `on_demand` fleet needs none until a robot asks. */
export function isCapacityExpected({ facts, active }: AssessedFleet): boolean {
  return facts.readiness_mode !== "on_demand" || active.able.some(({ deployment }) => deployment !== "none");
}

/** State of a member, or what a waiting one waits for. */
export type MemberState = "blocked" | "active" | "ready" | keyof WaitingCounts;

/** The state of a group's robots, without regard to the peak. */
export function stateOf(group: MemberGroup, { position, active }: AssessedFleet): Exclude<MemberState, "peak"> {
  if (active.unable.has(group)) return "blocked";
  if (group.deployment === "active") return "active";
  if (group.isOffline) return "robot";
  if (position.state !== "within") return "window";
  return active.endpoints.get(group.region)?.health === "healthy" ? "ready" : "endpoint";
}

/** The members by their state, each counted once: of those that could be ready, some wait once the peak is reached. */
export function countMembers(fleet: AssessedFleet): Readonly<Record<MemberState, number>> {
  const counts = { blocked: 0, active: 0, ready: 0, endpoint: 0, window: 0, peak: 0, robot: 0 };
  for (const group of fleet.facts.members) counts[stateOf(group, fleet)] += group.count;
  const free = Math.max(0, fleet.facts.peak_active_robots - counts.active);
  const peak = Math.max(0, counts.ready - free);
  return { ...counts, ready: counts.ready - peak, peak };
}

function robotCounts(fleet: AssessedFleet): FleetView["robots"] {
  const { ready, active, blocked, endpoint, window, peak, robot } = countMembers(fleet);
  const waiting = endpoint + window + peak + robot;
  return { registered: ready + active + waiting + blocked, ready, active, waiting, blocked };
}

function activeModelStatus({ generation, able }: Assessment): string {
  if (able.length === 0) return "blocked";
  return generation.activated_at === null ? "preparing" : "active";
}

function updateView({ generation: { subject, id }, blocker, isObserved }: Assessment) {
  const update = { subject, generation_id: id };
  if (blocker !== null) return { ...update, status: "blocked", blocker: needInWords(blocker) };
  return { ...update, status: isObserved ? "preparing" : "pending", blocker: null };
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
