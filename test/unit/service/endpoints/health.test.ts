import { describe, expect, it } from "vitest";

import { type Demand, expectationOf } from "../../../../src/service/endpoints/expectation.ts";
import { believe } from "../../../../src/service/endpoints/health.ts";
import {
  parseWindows,
  positionIn,
  printWindows,
  windowsOf,
} from "../../../../src/service/fleets/readiness/fleet-facts.ts";
import type { EndpointHealth } from "../../../../src/service/kernel/store/tables.ts";

describe("believe", () => {
  /** `+` is a success, `-` a failure; the assumed health after each. */
  const CASES: readonly [string, EndpointHealth, string, string][] = [
    ["unknown → healthy at the first success", "unknown", "+", "healthy"],
    ["unknown → failing after three failures", "unknown", "---", "unknown unknown failing"],
    [
      "one lost probe → no change, and it is forgotten",
      "healthy",
      "-+--+--+",
      "healthy healthy healthy healthy healthy healthy healthy healthy",
    ],
    ["healthy → failing after three failures in a row", "healthy", "---", "healthy healthy failing"],
    ["failing → healthy after two successes in a row", "failing", "+-++", "failing failing failing healthy"],
  ];
  it.each(CASES)("%s", (_name, health, probes, expected) => {
    let belief = { health, contrary_probes: 0 };
    const seen = [...probes].map((probe) => {
      belief = { ...believe(belief, probe === "+") };
      return belief.health;
    });
    expect(seen.join(" ")).toBe(expected);
  });
});

describe("expectationOf", () => {
  const NOW_MS = Date.parse("2026-06-01T12:00:00.000Z");
  const fleet = (parts: Partial<Demand>): Demand => ({
    checkpointId: "ckpt_a",
    modelSlug: "pi",
    readinessMode: "always_ready",
    isAwaited: false,
    opensMs: null,
    ...parts,
  });
  /** Time until the start of the first window that is not over; null if all are over. */
  const scheduled = (laterMs: number | null, isAwaited = false) =>
    fleet({ readinessMode: "scheduled", opensMs: laterMs === null ? null : NOW_MS + laterMs, isAwaited });
  const onDemand = (isAwaited: boolean) => fleet({ readinessMode: "on_demand", isAwaited });
  const expected = { fromMs: Number.NEGATIVE_INFINITY, isAwaited: false };
  const awaited = { ...expected, isAwaited: true };
  const never = { fromMs: Number.POSITIVE_INFINITY, isAwaited: false };
  const from = (laterMs: number) => ({ fromMs: NOW_MS + laterMs, isAwaited: false });

  const CASES: readonly [string, readonly Demand[], unknown][] = [
    ["no demand → never", [], never],
    ["always_ready → now", [fleet({})], expected],
    ["on_demand, idle → never", [onDemand(false)], never],
    ["any mode, not ready once → now, and awaited", [onDemand(true)], awaited],
    ["both awaited and expected → awaited", [fleet({}), fleet({ isAwaited: true })], awaited],
    ["scheduled, over → never, even if it never was ready", [scheduled(null, true)], never],
    ["scheduled → one preparation before it opens", [scheduled(3_600_000)], from(3_600_000 - 90_000)],
    ["several fleets → the first one that opens", [scheduled(7_200_000), scheduled(3_600_000)], from(3_510_000)],
  ];
  it.each(CASES)("%s", (_name, demands, expectation) => {
    expect(expectationOf(demands, new Map([["pi", [10, 90]]]))).toEqual(expectation);
  });

  it("model without an observed preparation → probed early enough", () => {
    expect(expectationOf([scheduled(3_600_000)], new Map())).toEqual(from(3_300_000));
  });
});

describe("windows", () => {
  const at = (time: string) => Date.parse(`2026-06-${time}:00Z`);
  const windows = windowsOf([
    { starts_at: "2026-06-03T08:00:00+02:00", ends_at: "2026-06-03T17:00:00+02:00" },
    { starts_at: "2026-06-02T08:00:00Z", ends_at: "2026-06-02T12:00:00Z" },
    { starts_at: "2026-06-02T12:00:00Z", ends_at: "2026-06-02T17:00:00Z" },
  ]);

  it.each([
    ["before all", "01T00:00", { state: "before", startsMs: at("02T08:00") }],
    ["at a start → within", "02T08:00", { state: "within" }],
    ["where one ends and another starts → within", "02T12:00", { state: "within" }],
    ["at an end → before the next", "02T17:00", { state: "before", startsMs: at("03T06:00") }],
    ["in one with another UTC offset", "03T07:00", { state: "within" }],
    ["at the last end → after", "03T15:00", { state: "after" }],
  ])("%s", (_name, time, position) => {
    expect(positionIn(parseWindows(printWindows(windows)), at(time))).toEqual(position);
  });
});
