import { type FleetOptions, type FleetReport, simulateFleet } from "./fleet.ts";

const RUNS_MAXIMUM = 150;

/**
 * Reduces a failing run by leaving out acts, first in large groups and then one by one, as long as the failure stays the same
 * (Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002).
 *
 * @returns the smallest failing run, with the acts that it needs.
 */
export async function shrink(options: FleetOptions, failed: FleetReport): Promise<FleetReport> {
  const kind = kindOf(failed.failure);
  let smallest = failed;
  let acts = failed.planned.filter((index) => options.acts?.includes(index) ?? true);
  let runs = 0;
  for (let size = Math.ceil(acts.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < acts.length && runs < RUNS_MAXIMUM;) {
      const fewer = [...acts.slice(0, start), ...acts.slice(start + size)];
      runs += 1;
      const report = await simulateFleet({ ...options, acts: fewer });
      if (kindOf(report.failure) === kind) {
        acts = fewer;
        smallest = report;
      } else start += size;
    }
  }
  return { ...smallest, planned: acts };
}

/** The failure without variable parts: numbers, ids and digests. */
function kindOf(failure: string | null): string | null {
  return failure?.split(/[:{(]/, 1)[0]?.replaceAll(/\S*\d\S*/g, "#") ?? null;
}
