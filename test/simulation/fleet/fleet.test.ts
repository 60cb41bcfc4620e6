import { describe, expect, it } from "vitest";

import { times } from "../../support/tier.ts";
import { describeFleetFailure, simulateFleet } from "./fleet.ts";

/** Seeds of the gate; `scripts/simulate.ts --world` runs thousands. */
const SEEDS = times(80, 400);

describe("simulateFleet", () => {
  it.each(Array.from({ length: SEEDS }, (_, index) => 1 + index))(
    "simulateFleet: robots, replicas and the network between them fail, and nothing is lost, mixed or doubled: seed %i",
    async (seed) => {
      const report = await simulateFleet({ seed });
      if (report.failure !== null) expect.fail(describeFleetFailure(report));
    },
  );

  it("simulateFleet: the same seed gives the same trace, another one another", async () => {
    const first = await simulateFleet({ seed: 1001 });
    const again = await simulateFleet({ seed: 1001 });
    const other = await simulateFleet({ seed: 1002 });
    expect(again).toEqual(first);
    expect(first.steps).toBeGreaterThan(1000);
    expect(other.trace_hash).not.toBe(first.trace_hash);
  });
});
