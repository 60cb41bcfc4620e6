import type { EndpointFacts } from "../../endpoints/index.ts";
import { endpointLack } from "../../endpoints/index.ts";
import type { FleetFacts, GenerationFacts, MemberGroup } from "./fleet-facts.ts";

/** How a fleet's members and one generation of its model go together. */
export interface Assessment {
  /** Members that the checkpoint can drive and that it has an endpoint for. */
  readonly able: readonly MemberGroup[];
  readonly unable: readonly UnableMembers[];
  /** All endpoints that `able` needs are healthy. False when there are none. */
  readonly isHealthy: boolean;
  /** Probes of one of them fail. One that nobody has looked at, because its address changed, may be as well as it was. */
  readonly isFailing: boolean;
  /** All of them were probed since the generation began. */
  readonly isObserved: boolean;
}

export interface UnableMembers {
  readonly group: MemberGroup;
  /** What the model lacks or asks: `needs a camera …`, `has no endpoint …`. */
  readonly reason: string;
}

export function assessActive({ members, active }: FleetFacts, nowMs: number): Assessment {
  return assess(members, active, ({ obstacle }) => obstacle, nowMs);
}

export function assessUpdate({ members }: FleetFacts, update: GenerationFacts, nowMs: number): Assessment {
  return assess(members, update, ({ update_obstacle: updateObstacle }) => updateObstacle, nowMs);
}

function assess(
  members: readonly MemberGroup[],
  generation: GenerationFacts,
  obstacleOf: (group: MemberGroup) => string | null,
  nowMs: number,
): Assessment {
  const judged = members.map((group) => ({
    group,
    reason: obstacleOf(group) ?? endpointLack(group.region, generation.endpoints),
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

/** What was known before somebody asked may be minutes old. Nobody can be asked to wait for a time that a clock running ahead wrote down. */
function isObservedSince({ last_probed_at: lastProbedAt }: EndpointFacts, createdAt: string, nowMs: number): boolean {
  if (lastProbedAt === null) return false;
  return Date.parse(lastProbedAt) >= Date.parse(createdAt) || Date.parse(createdAt) > nowMs;
}
