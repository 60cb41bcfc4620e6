import { type EndpointFacts, missingEndpoint } from "../../endpoints/index.ts";
import type { FleetFacts, GenerationFacts, MemberGroup } from "./fleet-facts.ts";

/** Which members of a fleet can run one generation of its model, and the state of the endpoints they need. */
export interface Assessment {
  /** Members that the checkpoint can drive and for whose region it has an endpoint. */
  readonly able: readonly MemberGroup[];
  readonly unable: readonly UnableMembers[];
  /** All endpoints that `able` needs are healthy. False if it needs none. */
  readonly isHealthy: boolean;
  /** At least one of them is failing. One without a result, because its address changed, does not count. */
  readonly isFailing: boolean;
  /** All of them were probed since the generation was created. */
  readonly isObserved: boolean;
}

export interface UnableMembers {
  readonly group: MemberGroup;
  /** A predicate with the model as its subject: `needs a camera …`, `has no endpoint …`. */
  readonly reason: string;
}

const REMOVED = "runs on no robot that was removed";

export function assessActive({ members, active }: FleetFacts, nowMs: number): Assessment {
  return assess(members, active, ({ obstacle }) => obstacle, nowMs);
}

export function assessUpdate({ members }: FleetFacts, update: GenerationFacts, nowMs: number): Assessment {
  return assess(members, update, ({ updateObstacle }) => updateObstacle, nowMs);
}

function assess(
  members: readonly MemberGroup[],
  generation: GenerationFacts,
  obstacleOf: (group: MemberGroup) => string | null,
  nowMs: number,
): Assessment {
  const judged = members.map((group) => ({
    group,
    reason: group.isRemoved ? REMOVED : (obstacleOf(group) ?? missingEndpoint(group.region, generation.endpoints)),
  }));
  const able = judged.flatMap(({ group, reason }) => (reason === null ? [group] : []));
  const unable = judged.flatMap(({ group, reason }) => (reason === null ? [] : [{ group, reason }]));
  const endpoints = [...neededEndpoints(able, generation).values()];
  return {
    able,
    unable,
    isHealthy: endpoints.length > 0 && endpoints.every(({ health }) => health === "healthy"),
    isFailing: endpoints.some(({ health }) => health === "failing"),
    isObserved: endpoints.every((endpoint) => isObservedSince(endpoint, generation.created_at, nowMs)),
  };
}

/** Endpoints of a generation in the regions of these members, by region. */
export function neededEndpoints(
  able: readonly MemberGroup[],
  { endpoints }: GenerationFacts,
): ReadonlyMap<string, EndpointFacts> {
  const regions = new Set(able.map(({ region }) => region));
  return new Map([...endpoints].filter(([region]) => regions.has(region)));
}

/** Older probe results may be minutes old. A creation time in the future comes from a wrong clock and is not waited for. */
function isObservedSince({ last_probed_at: lastProbedAt }: EndpointFacts, createdAt: string, nowMs: number): boolean {
  if (lastProbedAt === null) return false;
  return Date.parse(lastProbedAt) >= Date.parse(createdAt) || Date.parse(createdAt) > nowMs;
}
