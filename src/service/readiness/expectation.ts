import type { Demand } from "../store/demands.ts";
import type { ReadinessEstimateRange } from "./estimate.ts";
import { preparationRange } from "./estimate.ts";

/** When capacity of a checkpoint is expected: now, from a moment on, or as far as anyone can tell not at all. */
export type Expectation =
  | { readonly state: "now"; /** Somebody waits for it to be ready for the first time. */ readonly is_awaited: boolean }
  | { readonly state: "from"; readonly from_ms: number }
  | { readonly state: "never" };

/** How long before a window a model is looked at when nobody knows yet how long its preparation takes. */
export const UNKNOWN_PREPARATION_MS = 300_000;

/**
 * What the demands of one checkpoint come to: a deployment expects capacity while it lasts, an `always_ready` fleet always, a
 * `scheduled` one within its windows and one preparation before them, and every fleet until its model was ready once.
 * `on_demand` fleets expect it through the deployments of their robots.
 *
 * @param preparations observed ones of the model, in seconds, shortest first.
 */
export function expectationOf(
  demands: readonly Demand[],
  preparations: ReadonlyMap<string, readonly number[]>,
  now_ms: number,
): Expectation {
  const expectations = demands.map((demand) => expectation(demand, preparations, now_ms));
  const now = expectations.filter(({ state }) => state === "now");
  if (now.length > 0) return now.find((each) => each.state === "now" && each.is_awaited) ?? EXPECTED;
  const starts_ms = expectations.flatMap((each) => (each.state === "from" ? [each.from_ms] : []));
  return starts_ms.length === 0 ? NEVER : { state: "from", from_ms: Math.min(...starts_ms) };
}

const AWAITED: Expectation = { state: "now", is_awaited: true };
const EXPECTED: Expectation = { state: "now", is_awaited: false };
const NEVER: Expectation = { state: "never" };

function expectation(
  demand: Demand,
  preparations: ReadonlyMap<string, readonly number[]>,
  now_ms: number,
): Expectation {
  if (demand.kind === "deployment") return EXPECTED;
  switch (demand.readiness_mode) {
    case "always_ready":
      return demand.is_awaited ? AWAITED : EXPECTED;
    case "on_demand":
      return demand.is_awaited ? AWAITED : NEVER;
    case "scheduled": {
      if (demand.opens_ms === null) return NEVER;
      if (demand.is_awaited) return AWAITED;
      const from_ms = demand.opens_ms - leadOf(preparationRange(preparations.get(demand.model_slug) ?? [], 0));
      return from_ms <= now_ms ? EXPECTED : { state: "from", from_ms };
    }
  }
}

function leadOf(range: ReadinessEstimateRange | null): number {
  return range === null ? UNKNOWN_PREPARATION_MS : range.upper_seconds * 1000;
}
