/**
 * Runs the daemon on simulated machines, one seed after the other, and shows the first that fails.
 *
 *   node scripts/simulate.ts --seeds 500 --steps 6000 [--seed N] [--plant skip-second-stat|forget-fsync] [--all] [--minutes N]
 */
import { parseArgs } from "node:util";

import { PLANTS } from "../test/simulation/plants.ts";
import { STEPS, describeFailure, simulate } from "../test/simulation/simulation.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    steps: { type: "string", default: String(STEPS) },
    /** The first seed; without --seeds the only one. */
    seed: { type: "string" },
    plant: { type: "string" },
    /** Go on after a failure and count them. */
    all: { type: "boolean", default: false },
    /** Instead of a number of seeds: begin no further one after so long. */
    minutes: { type: "string" },
  },
});

const plant = PLANTS.find((name) => name === values.plant) ?? null;
if (values.plant !== undefined && plant === null) throw new Error(`No such plant; there are ${PLANTS.join(" and ")}`);
const first = Number(values.seed ?? "1");
const ends_ms = values.minutes === undefined ? Infinity : performance.now() + Number(values.minutes) * 60_000;
const seeds = values.minutes === undefined ? (values.seed === undefined ? "500" : "1") : "Infinity";
const last = first - 1 + Number(values.seeds ?? seeds);
const steps = Number(values.steps);

const totals = { seeds: 0, steps: 0, posts: 0, starts: 0, kills: 0, power_cuts: 0, failures: 0, simulated_hours: 0 };
const began_ms = performance.now();
for (let seed = first; seed <= last && performance.now() < ends_ms; seed += 1) {
  const report = await simulate({ seed, steps, plant });
  totals.seeds += 1;
  totals.steps += report.steps;
  totals.simulated_hours += report.simulated_ms / 3_600_000;
  totals.posts += report.counts.posts;
  totals.starts += report.counts.starts;
  totals.kills += report.counts.kills;
  totals.power_cuts += report.counts.power_cuts;
  if (first === last) console.log(`trace hash ${report.trace_hash}`);
  if (report.failure === null) continue;
  totals.failures += 1;
  console.error(values.all ? `seed ${seed}: ${report.failure.split("\n")[0]}` : describeFailure(report));
  process.exitCode = 1;
  if (!values.all) break;
}
const seconds = ((performance.now() - began_ms) / 1000).toFixed(1);
console.log(
  JSON.stringify({ ...totals, simulated_hours: Math.round(totals.simulated_hours), seconds: Number(seconds) }),
);
