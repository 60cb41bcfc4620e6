import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { USAGE_GROUPINGS } from "../../../../src/api/usage.ts";
import { createSums } from "../../../../src/service/usage/summary.ts";

const at = (ms: number) => new Date(ms).toISOString();
const period = (start: string, end: string | null, quantity: number, robotName = "r1", modelSlug = "m1") => ({
  robot_name: robotName,
  model_slug: modelSlug,
  quantity,
  period_start: `2026-03-${start}.000Z`,
  period_end: end === null ? null : `2026-03-${end}.000Z`,
});
const MARCH = { sinceMs: Date.parse("2026-03-01T00:00:00Z"), untilMs: Date.parse("2026-04-01T00:00:00Z") };
const periods = [
  period("01T10:00:00", "01T11:00:00", 3600),
  period("01T11:00:00", "01T11:00:00", 0),
  // An hour that was recorded late and spans midnight.
  period("01T23:30:00", "02T00:30:00", 3600, "r2"),
  period("02T08:00:00", null, 60, "r1", "m2"),
];

describe("sums of usage", () => {
  it.each([
    ["day", ["2026-03-01 5400", "2026-03-02 1860"]],
    ["robot", ["r1 3660", "r2 3600"]],
    ["model", ["m1 7200", "m2 60"]],
    ["day,robot", ["2026-03-01 r1 3600", "2026-03-01 r2 1800", "2026-03-02 r1 60", "2026-03-02 r2 1800"]],
    ["day,model", ["2026-03-01 m1 5400", "2026-03-02 m1 1800", "2026-03-02 m2 60"]],
    ["robot,model", ["r1 m1 3600", "r1 m2 60", "r2 m1 3600"]],
  ] as const)("by %s", (by, expected) => {
    const sums = createSums(by, MARCH);
    for (const each of periods) sums.add(each);
    const lines = sums.items().map(({ day, robot, model_slug: modelSlug, quantity }) => {
      return [day, robot, modelSlug, quantity].filter((part) => part !== null).join(" ");
    });
    expect(lines).toEqual(expected);
    expect(sums.count).toBe(expected.length);
  });

  it("any division of time → the parts add up to the total, each second once", () => {
    const seconds = fc.integer({ min: 0, max: 10 * 86_400 });
    const stretch = fc.tuple(seconds, fc.integer({ min: 0, max: 3 * 86_400 }));
    const cuts = fc.uniqueArray(seconds, { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(fc.array(stretch, { maxLength: 8 }), cuts, fc.constantFrom(...USAGE_GROUPINGS), (used, edges, by) => {
        const sorted = edges.toSorted((left, right) => left - right);
        const total = (since: number, until: number) => {
          const sums = createSums(by, { sinceMs: since * 1000, untilMs: until * 1000 });
          for (const [start, quantity] of used) {
            const [periodStart, periodEnd] = [at(start * 1000), at((start + quantity) * 1000)];
            sums.add({ robot_name: "r", model_slug: "m", quantity, period_start: periodStart, period_end: periodEnd });
          }
          return sums.items().reduce((sum, { quantity }) => sum + quantity, 0);
        };
        const parts = sorted.slice(1).map((until, index) => total(sorted[index] ?? 0, until));
        const whole = total(sorted[0] ?? 0, sorted.at(-1) ?? 0);
        expect(parts.reduce((sum, part) => sum + part, 0)).toBe(whole);
        const [from, to] = [sorted[0] ?? 0, sorted.at(-1) ?? 0];
        const expected = used.map(([start, length]) =>
          Math.max(0, Math.min(start + length, to) - Math.max(start, from)),
        );
        expect(whole).toBe(expected.reduce((sum, each) => sum + each, 0));
      }),
    );
  });
});
