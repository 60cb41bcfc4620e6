import type { FleetNeed } from "../../../api/fleet-details.ts";
import { type EndpointFacts, missingEndpoint } from "../../endpoints/index.ts";
import { allMembersBlocked, allWindowsPast, someMembersBlocked, type UnableMembers } from "./blocker.ts";
import {
  type FleetFacts,
  type GenerationFacts,
  type MemberGroup,
  positionIn,
  robotsIn,
  type WindowPosition,
} from "./fleet-facts.ts";

/** A fleet at one time, judged once: its view, details, needs and next step follow from this. */
export interface AssessedFleet {
  readonly facts: FleetFacts;
  readonly nowMs: number;
  /** A fleet without a schedule is always within. */
  readonly position: WindowPosition;
  readonly active: Assessment;
  /** Null without an update. */
  readonly update: Assessment | null;
}

/** Which members of a fleet can run one generation of its model, and the state of the endpoints they need. */
export interface Assessment {
  readonly generation: GenerationFacts;
  /** Members that the checkpoint can drive and for whose region it has an endpoint. */
  readonly able: readonly MemberGroup[];
  readonly unable: UnableMembers;
  /** The endpoints that `able` needs, by region. */
  readonly endpoints: ReadonlyMap<string, EndpointFacts>;
  /** All of them are healthy. False if there are none. */
  readonly isHealthy: boolean;
  /** At least one of them is failing. One without a result, because its address changed, does not count. */
  readonly isFailing: boolean;
  /** All of them were probed since the generation was created. */
  readonly isObserved: boolean;
  /** Why the generation cannot become ready, or replace the active one, until a person does something; null if it can. */
  readonly blocker: FleetNeed | null;
}

const REMOVED = "runs on no robot that was removed";

export function assessFleet(facts: FleetFacts, nowMs: number): AssessedFleet {
  const { members, readiness_mode: readinessMode, windows } = facts;
  const position: WindowPosition = readinessMode === "scheduled" ? positionIn(windows, nowMs) : { state: "within" };
  const active = assess(members, facts.active, ({ obstacle }) => obstacle, nowMs);
  const update =
    facts.update === null ? null : assess(members, facts.update, ({ updateObstacle }) => updateObstacle, nowMs);
  return {
    facts,
    nowMs,
    position,
    active: { ...active, blocker: activeBlocker(facts, active, position) },
    update: update === null ? null : { ...update, blocker: updateBlocker(facts, update, active) },
  };
}

type Judged = Omit<Assessment, "blocker">;

function assess(
  members: readonly MemberGroup[],
  generation: GenerationFacts,
  obstacleOf: (group: MemberGroup) => string | null,
  nowMs: number,
): Judged {
  const unable = new Map<MemberGroup, string>();
  for (const group of members) {
    const obstacle = group.isRemoved ? REMOVED : obstacleOf(group);
    const reason = obstacle ?? missingEndpoint(group.region, generation.endpoints);
    if (reason !== null) unable.set(group, reason);
  }
  const able = members.filter((group) => !unable.has(group));
  const regions = new Set(able.map(({ region }) => region));
  const endpoints = new Map([...generation.endpoints].filter(([region]) => regions.has(region)));
  const needed = [...endpoints.values()];
  return {
    generation,
    able,
    unable,
    endpoints,
    isHealthy: needed.length > 0 && needed.every(({ health }) => health === "healthy"),
    isFailing: needed.some(({ health }) => health === "failing"),
    isObserved: needed.every((endpoint) => isObservedSince(endpoint, generation.created_at, nowMs)),
  };
}

/** Older probe results may be minutes old. A creation time in the future comes from a wrong clock and is not waited for. */
function isObservedSince({ last_probed_at: lastProbedAt }: EndpointFacts, createdAt: string, nowMs: number): boolean {
  if (lastProbedAt === null) return false;
  return Date.parse(lastProbedAt) >= Date.parse(createdAt) || Date.parse(createdAt) > nowMs;
}

function activeBlocker(facts: FleetFacts, { able, unable }: Judged, position: WindowPosition): FleetNeed | null {
  if (able.length === 0) return allMembersBlocked(facts, facts.active.subject, unable);
  return position.state === "after" ? allWindowsPast() : null;
}

/** No robot can run the update, or robots that can run the active generation cannot. */
function updateBlocker(facts: FleetFacts, { generation, able, unable }: Judged, active: Judged): FleetNeed | null {
  const { subject } = generation;
  if (robotsIn(facts.members) === 0) return allMembersBlocked(facts, subject, unable);
  if (able.length === 0) return someMembersBlocked(facts, subject, unable);
  const lost = new Map([...unable].filter(([group]) => !active.unable.has(group)));
  return lost.size === 0 ? null : someMembersBlocked(facts, subject, lost);
}
