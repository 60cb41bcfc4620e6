import { expect, it } from "vitest";

import { times } from "../../support/tier.ts";
import { describeFleetFailure, simulateFleet } from "./fleet.ts";

/** Seeds of the gate; `scripts/simulate.ts --world` runs thousands. */
const SEEDS = times(80, 400);

/** Every other seed of a run, from `first` on: two files, so that two workers share them. */
export function testSeeds(first: 1 | 2): void {
  it.each(Array.from({ length: SEEDS / 2 }, (_, index) => first + 2 * index))(
    "simulateFleet: robots, replicas and the network between them fail, and nothing is lost, mixed or doubled: seed %i",
    async (seed) => {
      const report = await simulateFleet({ seed });
      if (report.failure !== null) expect.fail(describeFleetFailure(report));
    },
  );
}
