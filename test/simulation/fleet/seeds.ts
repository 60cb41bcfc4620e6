import { describe, expect, it } from "vitest";

import { PATIENCE_MS } from "../../support/run/patience.ts";
import { times } from "../../support/run/tier.ts";
import { FAULTS } from "./faults.ts";
import { describeFleetFailure, type FleetReport, simulateFleet } from "./fleet.ts";

/** Seeds of the gate, and of both short tiers; `scripts/lab/simulate --world` runs thousands. */
const GATE_SEEDS = 16;
const SEEDS = times(80, 400);

/** Defines tests for every second seed from `first` on: two test files share the seeds, so that two workers run them. */
export function testSeeds(first: 1 | 2): void {
  const seeds = Array.from({ length: SEEDS / 2 }, (_, index) => first + 2 * index);
  const reports = new Map<number, Promise<FleetReport>>();
  const reportOf = (seed: number): Promise<FleetReport> => {
    const report = reports.get(seed) ?? simulateFleet({ seed });
    reports.set(seed, report);
    return report;
  };

  const holds = async (seed: number) => {
    const report = await reportOf(seed);
    if (report.failure !== null) expect.fail(describeFleetFailure(report));
  };
  const title = "failing robots, replicas and network → nothing is lost, mixed up or duplicated: seed %i";

  it.each(seeds.filter((seed) => seed <= GATE_SEEDS))(`simulateFleet: ${title}`, holds);

  describe("simulateFleet", { tags: "needs/time" }, () => {
    it.each(seeds.filter((seed) => seed > GATE_SEEDS))(title, holds);

    it("all seeds → every kind of fault occurs", { timeout: SEEDS * PATIENCE_MS }, async () => {
      const happened = new Set<string>();
      for (const seed of seeds) for (const fault of Object.keys((await reportOf(seed)).acts)) happened.add(fault);
      expect(FAULTS.filter((fault) => !happened.has(fault))).toEqual([]);
    });
  });
}
