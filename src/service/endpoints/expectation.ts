import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { preparationRange, type ReadinessEstimateRange } from "./preparations.ts";

/** When capacity of a checkpoint is expected: now, from a time on, or not at all as far as is known. */
export type Expectation =
  | { readonly state: "now"; /** A fleet waits for it to be ready for the first time. */ readonly isAwaited: boolean }
  | { readonly state: "from"; readonly fromMs: number }
  | { readonly state: "never" };

/** Assumed duration of a preparation if none was observed. */
export const UNKNOWN_PREPARATION_MS = 300_000;

/**
 * The expectation that follows from the demands of one checkpoint: a current deployment expects capacity, and so does an `always_ready` fleet,
 * a `scheduled` one in its windows and for one preparation before them, and every fleet until its model was ready once.
 * `on_demand` fleets expect it through the deployments of their robots.
 *
 * @param preparations observed ones of the model, in seconds, shortest first.
 */
export function expectationOf(
  demands: readonly Demand[],
  preparations: ReadonlyMap<string, readonly number[]>,
  nowMs: number,
): Expectation {
  const expectations = demands.map((demand) => expectation(demand, preparations, nowMs));
  const now = expectations.filter(({ state }) => state === "now");
  if (now.length > 0) return now.find((each) => each.state === "now" && each.isAwaited) ?? EXPECTED;
  const startsMs = expectations.flatMap((each) => (each.state === "from" ? [each.fromMs] : []));
  return startsMs.length === 0 ? NEVER : { state: "from", fromMs: Math.min(...startsMs) };
}

const AWAITED: Expectation = { state: "now", isAwaited: true };
const EXPECTED: Expectation = { state: "now", isAwaited: false };
const NEVER: Expectation = { state: "never" };

function expectation(demand: Demand, preparations: ReadonlyMap<string, readonly number[]>, nowMs: number): Expectation {
  if (demand.kind === "deployment") return EXPECTED;
  switch (demand.readinessMode) {
    case "always_ready":
      return demand.isAwaited ? AWAITED : EXPECTED;
    case "on_demand":
      return demand.isAwaited ? AWAITED : NEVER;
    case "scheduled": {
      if (demand.opensMs === null) return NEVER;
      if (demand.isAwaited) return AWAITED;
      const fromMs = demand.opensMs - leadOf(preparationRange(preparations.get(demand.modelSlug) ?? [], 0));
      return fromMs <= nowMs ? EXPECTED : { state: "from", fromMs };
    }
  }
}

function leadOf(range: ReadinessEstimateRange | null): number {
  return range === null ? UNKNOWN_PREPARATION_MS : range.upperSeconds * 1000;
}

/** Why the endpoints of a checkpoint should be healthy. */
export type Demand =
  /** It is deployed to a robot. */
  | { readonly kind: "deployment"; readonly checkpointId: string }
  /** Fleets use it, or wait for it to be ready for the first time. */
  | {
      readonly kind: "fleets";
      readonly checkpointId: string;
      readonly modelSlug: string;
      readonly readinessMode: Tables["fleets"]["readiness_mode"];
      readonly isAwaited: boolean;
      /** Start of the first operating window that is not over; null without one. */
      readonly opensMs: number | null;
    };

/** The demands for these checkpoints. Equal demands of several fleets or robots are one. */
export async function loadDemands(
  reader: Reader,
  checkpointIds: readonly string[],
  nowMs: number,
): Promise<readonly Demand[]> {
  if (checkpointIds.length === 0) return [];
  const deployed = await reader
    .selectFrom("deployments")
    .select("checkpoint_id")
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
    ...deployed.map(({ checkpoint_id: checkpointId }) => ({ kind: "deployment" as const, checkpointId })),
    ...alike.map(({ checkpointId, modelSlug, readinessMode, awaited, opensMs }) => {
      const isAwaited = awaited === 1;
      return { kind: "fleets" as const, checkpointId, modelSlug, readinessMode, isAwaited, opensMs };
    }),
  ];
}
