import { expect, it } from "vitest";

import { times } from "../../support/run/tier.ts";
import { describeFleetFailure, simulateFleet } from "./fleet.ts";

it.each(Array.from({ length: times(1, 20) }, (_, index) => 2001 + index))(
  "simulateFleet: fifty robots and two replicas → no violation: seed %i",
  async (seed) => {
    const report = await simulateFleet({ seed, robots: 50, minutes: 1 });
    if (report.failure !== null) expect.fail(describeFleetFailure(report));
  },
);
