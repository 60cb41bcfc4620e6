import { describe, expect, it } from "vitest";

import { times } from "../support/run/tier.ts";
import { PLANTS } from "./plants.ts";
import { describeFailure, simulate } from "./simulation.ts";

/** In addition to the worlds of fleet/; `scripts/lab/simulate` runs thousands. */
const SEEDS = times(24, 400);
const FIRST_SEED = 1;
/** Maximum number of seeds, and of steps of each, to find a planted mistake. */
const PLANT_SEEDS = 40;
const PLANT_STEPS = 3000;

/** Seeds that once found a mistake, and the mistake. */
const REGRESSIONS: readonly (readonly [seed: number, what: string])[] = [
  [3, "that files with whole-second timestamps did not have to settle"],
  [30, "an empty file sent because its complete content had never settled"],
  [46, "a trusted registration although the service had accepted another one with a lost answer"],
  [98, "refused requests that did not count for the rate cap"],
  [163, "a trusted registration although the service had accepted another one with a lost answer"],
  [176, "a half-written file sent because its complete content had never settled"],
  [266, "a daemon ended by an error on closing the key file"],
];

async function expectNoViolation(seed: number): Promise<void> {
  const report = await simulate({ seed });
  if (report.failure !== null) expect.fail(describeFailure(report));
}

describe("simulate", () => {
  // One test per seed, because the time limit is per test.
  it.each(Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index))(
    "simulate: crashes, torn writes, lost events, clock steps and outages → no violation: seed %i",
    expectNoViolation,
  );

  // The seeds above include the first ones.
  it.each(REGRESSIONS.filter(([seed]) => seed >= FIRST_SEED + SEEDS))(
    "simulate: seed %i, which found %s → no violation",
    expectNoViolation,
  );

  it("simulate: same seed → same trace, another seed → another trace", async () => {
    const first = await simulate({ seed: 77, steps: 2000 });
    const again = await simulate({ seed: 77, steps: 2000 });
    const other = await simulate({ seed: 78, steps: 2000 });
    expect(again).toEqual(first);
    expect(first.steps).toBeGreaterThan(2000);
    expect(other.traceHash).not.toBe(first.traceHash);
  });

  it.each(PLANTS)(`simulate: planted mistake %s → found within ${PLANT_SEEDS} seeds`, async (plant) => {
    for (let seed = 1; seed <= PLANT_SEEDS; seed += 1) {
      const report = await simulate({ seed, plant, steps: PLANT_STEPS });
      if (report.failure === null) continue;
      console.log(`${plant}: seed ${seed}, step ${report.steps}: ${report.failure}`);
      expect(report.failure).toMatch(EXPECTED_FAILURES[plant]);
      return;
    }
    expect.fail(`${plant} was not found in ${PLANT_SEEDS} seeds`);
  });
});

const EXPECTED_FAILURES = {
  "skip-second-stat": /no state of the files ever had|of the past|had lasted|half-written/,
  "forget-fsync": /neither old nor new/,
} as const;
