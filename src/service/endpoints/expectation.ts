import type { Demand } from "./demands.ts";
import type { ReadinessEstimateRange } from "./estimate.ts";
import { preparationRange } from "./estimate.ts";

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
