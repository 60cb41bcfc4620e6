import { expect, it } from "vitest";

import { describeFleetFailure, simulateFleet } from "./fleet.ts";
import { KEPT_SEEDS, keptLine } from "./kept-seeds.ts";

it.each(KEPT_SEEDS)("simulateFleet: seed $seed, which found $found", async (kept) => {
  const report = await simulateFleet(kept);
  if (report.failure !== null) expect.fail(describeFleetFailure(report, kept.acts));
});

it("keptLine: failed world → its line for KEPT_SEEDS", async () => {
  const acts = [1, 2];
  const failed = {
    ...(await simulateFleet({ seed: 1, minutes: 0.1, acts })),
    planned: acts,
    failure: "a robot is gone",
  };
  expect(keptLine(failed, { minutes: 0.1 })).toBe(
    '  { seed: 1, minutes: 0.1, acts: [1, 2], found: "a robot is gone" },',
  );
});
