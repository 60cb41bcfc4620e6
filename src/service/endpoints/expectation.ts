import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { preparationRange } from "./preparations.ts";

/** When capacity of a checkpoint is expected. */
export interface Expectation {
  /** Milliseconds since the epoch; in the past for now, infinite for not at all as far as is known. */
  readonly fromMs: number;
  /** A fleet waits for it to be ready for the first time. */
  readonly isAwaited: boolean;
}

/** Assumed duration of a preparation if none was observed. */
export const UNKNOWN_PREPARATION_MS = 300_000;

const NOW = Number.NEGATIVE_INFINITY;
const NEVER = Number.POSITIVE_INFINITY;

/**
 * The expectation that follows from the demands of one checkpoint: an `always_ready` fleet expects capacity, and so does a `scheduled` one in
 * its windows and for one preparation before them, and every fleet until its model was ready once. `on_demand` fleets expect it through the
 * deployments of their robots: each current one does.
 *
 * @param preparations observed ones of each model, in seconds, shortest first.
 */
export function expectationOf(
  demands: readonly Demand[],
  preparations: ReadonlyMap<string, readonly number[]>,
): Expectation {
  return {
    fromMs: Math.min(NEVER, ...demands.map((demand) => expectedFrom(demand, preparations))),
    isAwaited: demands.some((demand) => demand.isAwaited && expectedFrom(demand, preparations) === NOW),
  };
}

function expectedFrom(
  { modelSlug, readinessMode, isAwaited, opensMs }: Demand,
  preparations: ReadonlyMap<string, readonly number[]>,
): number {
  switch (readinessMode) {
    case "always_ready":
      return NOW;
    case "on_demand":
      return isAwaited ? NOW : NEVER;
    case "scheduled": {
      if (opensMs === null) return NEVER;
      const range = preparationRange(preparations.get(modelSlug) ?? [], 0);
      return isAwaited ? NOW : opensMs - (range === null ? UNKNOWN_PREPARATION_MS : range.upperSeconds * 1000);
    }
  }
}

/** Why the endpoints of a checkpoint should be healthy: fleets use it, or wait for it to be ready for the first time. */
export interface Demand {
  readonly checkpointId: string;
  readonly modelSlug: string;
  /** A current deployment is a demand as of a fleet that is always ready. */
  readonly readinessMode: Tables["fleets"]["readiness_mode"];
  readonly isAwaited: boolean;
  /** Start of the first operating window that is not over; null without one. */
  readonly opensMs: number | null;
}

/** The demands for these checkpoints. Equal demands of several fleets or robots are one. */
export async function loadDemands(
  reader: Reader,
  checkpointIds: readonly string[],
  nowMs: number,
): Promise<readonly Demand[]> {
  if (checkpointIds.length === 0) return [];
  const deployed = await reader
    .selectFrom("deployments")
    .select(["checkpoint_id as checkpointId", "model_slug as modelSlug"])
    .distinct()
    .where("checkpoint_id", "in", checkpointIds)
    .where("retired_at", "is", null)
    .execute();
  const fleets = reader
    .selectFrom("generations")
    .innerJoin("fleets", "fleets.id", "generations.fleet_id")
    .innerJoin("checkpoints", "checkpoints.id", "generations.checkpoint_id")
    .select(["checkpoint_id", "checkpoints.model_slug", "readiness_mode"])
    .select(({ case: when, selectFrom }) => [
      when().when("activated_at", "is", null).then(1).else(0).end().as("awaited"),
      selectFrom("fleet_windows")
        .select("starts_ms")
        .whereRef("fleet_id", "=", "fleets.id")
        .where("ends_ms", ">", nowMs)
        .orderBy("ends_ms")
        .limit(1)
        .as("opens_ms"),
    ])
    .where("checkpoint_id", "in", checkpointIds)
    .where("superseded_at", "is", null);
  const alike = await reader
    .selectFrom(fleets.as("fleets"))
    .select(["checkpoint_id as checkpointId", "model_slug as modelSlug", "readiness_mode as readinessMode", "awaited"])
    .select(({ fn }) => fn.min<number | null>("opens_ms").as("opensMs"))
    .groupBy(["checkpoint_id", "model_slug", "readiness_mode", "awaited"])
    .execute();
  return [
    ...deployed.map(({ checkpointId, modelSlug }) => {
      return { checkpointId, modelSlug, readinessMode: "always_ready" as const, isAwaited: false, opensMs: null };
    }),
    ...alike.map(({ checkpointId, modelSlug, readinessMode, awaited, opensMs }) => {
      return { checkpointId, modelSlug, readinessMode, isAwaited: awaited === 1, opensMs };
    }),
  ];
}
