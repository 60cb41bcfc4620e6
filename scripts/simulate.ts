/**
 * Runs simulated worlds, one seed after the other, and shows the first that fails: the daemon on a robot by itself, or with --world robots
 * and replicas of the service together.
 *
 *   node scripts/simulate.ts --seeds 500 --steps 6000 [--seed N] [--plant skip-second-stat|forget-fsync] [--all] [--minutes N]
 *   node scripts/simulate.ts --world --seeds 10000 [--seed N] [--acts 3,17] [--robots 50] [--day 10] [--plant NAME] [--all] [--minutes N]
 *   node scripts/simulate.ts --mistakes
 *
 * A failing world is reduced before it is shown: --acts names the parts of its plan that happen. At the end a table counts the faults that
 * happened. --mistakes plants each mistake in turn and prints the first seed that finds it.
 */
import { parseArgs } from "node:util";

import { FAULTS } from "../test/simulation/fleet/faults.ts";
import { describeFleetFailure, type MistakeName, MISTAKES, simulateFleet } from "../test/simulation/fleet/fleet.ts";
import { keptLine } from "../test/simulation/fleet/kept-seeds.ts";
import { shrink } from "../test/simulation/fleet/shrink.ts";
import { PLANTS } from "../test/simulation/plants.ts";
import { STEPS, describeFailure, simulate } from "../test/simulation/simulation.ts";

const { values } = parseArgs({
  options: {
    world: { type: "boolean", default: false },
    seeds: { type: "string" },
    steps: { type: "string", default: String(STEPS) },
    /** The first seed; without --seeds the only one. */
    seed: { type: "string" },
    plant: { type: "string" },
    /** For a world: the number of robots, and simulated minutes until all faults end. By default, few of both, from the seed. */
    robots: { type: "string" },
    day: { type: "string" },
    acts: { type: "string" },
    mistakes: { type: "boolean", default: false },
    /** Continue after a failure and count failures. */
    all: { type: "boolean", default: false },
    /** Instead of a number of seeds: start no further seed after this time. */
    minutes: { type: "string" },
  },
});

/** Maximum number of seeds to find a planted mistake. */
const MISTAKE_SEEDS = 200;

/** The result of one seed. */
interface Ran {
  readonly steps: number;
  readonly simulatedMs: number;
  readonly traceHash: string;
  readonly failure: string | null;
  readonly counts: Readonly<Record<string, number>>;
  describe(): string;
}

if (values.mistakes) {
  for (const mistake of MISTAKES) console.log(await describeMistake(mistake));
  process.exit();
}
const run = values.world ? runWorld : runRobot;
const first = Number(values.seed ?? "1");
const endsMs = values.minutes === undefined ? Infinity : performance.now() + Number(values.minutes) * 60_000;
const seeds = values.minutes === undefined ? (values.seed === undefined ? "500" : "1") : "Infinity";
const last = first - 1 + Number(values.seeds ?? seeds);
const totals = { seeds: 0, steps: 0, failures: 0, simulated_hours: 0 };
const counts: Record<string, number> = {};
const beganMs = performance.now();
for (let seed = first; seed <= last && performance.now() < endsMs; seed += 1) {
  const ran = await run(seed);
  totals.seeds += 1;
  totals.steps += ran.steps;
  totals.simulated_hours += ran.simulatedMs / 3_600_000;
  for (const [name, count] of Object.entries(ran.counts)) counts[name] = (counts[name] ?? 0) + count;
  if (first === last) console.log(`trace hash ${ran.traceHash}`);
  if (ran.failure === null) continue;
  totals.failures += 1;
  console.error(values.all ? `seed ${seed}: ${ran.failure.split("\n")[0]}` : ran.describe());
  process.exitCode = 1;
  if (!values.all) break;
}
const seconds = Number(((performance.now() - beganMs) / 1000).toFixed(1));
const { user, system } = process.cpuUsage();
const processorSeconds = Number(((user + system) / 1e6).toFixed(1));
const simulatedHours = Math.round(totals.simulated_hours);
if (values.world) console.log(describeFaults());
console.log(
  JSON.stringify({
    ...totals,
    simulated_hours: simulatedHours,
    ...counts,
    seconds,
    processor_seconds: processorSeconds,
  }),
);

async function runRobot(seed: number): Promise<Ran> {
  const plant = PLANTS.find((name) => name === values.plant) ?? null;
  if (values.plant !== undefined && plant === null) throw new Error(`No such plant; there are ${PLANTS.join(" and ")}`);
  const report = await simulate({ seed, steps: Number(values.steps), plant });
  const { posts, starts, kills, power_cuts: powerCuts } = report.counts;
  return {
    ...report,
    counts: { posts, starts, kills, power_cuts: powerCuts },
    describe: () => describeFailure(report),
  };
}

async function runWorld(seed: number): Promise<Ran> {
  const mistake = MISTAKES.find((name) => name === values.plant);
  if (values.plant !== undefined && mistake === undefined)
    throw new Error(`No such plant; there are ${MISTAKES.join(", ")}`);
  const options = {
    seed,
    mistake,
    ...(values.robots === undefined ? {} : { robots: Number(values.robots) }),
    ...(values.day === undefined ? {} : { minutes: Number(values.day) }),
    ...(values.acts === undefined ? {} : { acts: values.acts.split(",").map(Number) }),
  };
  const report = await simulateFleet(options);
  const { robots, requests, acknowledged, acts, failure } = report;
  const small = failure === null || values.all || values.acts !== undefined ? report : await shrink(options, report);
  return {
    ...report,
    counts: { robots, requests, acknowledged, ...acts },
    describe: () =>
      small === report
        ? describeFleetFailure(small)
        : `${describeFleetFailure(small, small.planned)}\nto keep it:\n${keptLine(small, options)}`,
  };
}

/** How often each fault happened. */
function describeFaults(): string {
  const width = Math.max(...FAULTS.map((fault) => fault.length));
  return FAULTS.map((fault) => `${fault.padEnd(width)} ${String(counts[fault] ?? 0).padStart(8)}`).join("\n");
}

/** The first seed that finds a planted mistake, as a line of mistakes.test.ts. */
async function describeMistake(mistake: MistakeName): Promise<string> {
  for (let seed = 1; seed <= MISTAKE_SEEDS; seed += 1) {
    const { failure } = await simulateFleet({ seed, mistake });
    if (failure !== null) return `${JSON.stringify(mistake)}, ${seed}: ${failure.split("\n")[0] ?? ""}`;
  }
  process.exitCode = 1;
  return `${JSON.stringify(mistake)} is not found in ${MISTAKE_SEEDS} seeds`;
}
