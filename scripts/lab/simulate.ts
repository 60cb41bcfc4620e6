/**
 * Runs simulated worlds, one seed after the other, and shows the first that fails: the daemon on a robot by itself, or robots and replicas
 * of the service together. A failing world is reduced before it is shown.
 */
import { FAULTS } from "../../test/simulation/fleet/faults.ts";
import { describeFleetFailure, type MistakeName, MISTAKES, simulateFleet } from "../../test/simulation/fleet/fleet.ts";
import { keptLine } from "../../test/simulation/fleet/kept-seeds.ts";
import { shrink } from "../../test/simulation/fleet/shrink.ts";
import { PLANTS } from "../../test/simulation/plants.ts";
import { STEPS, describeFailure, simulate } from "../../test/simulation/simulation.ts";
import { optionalNumber, readFlags, refuseFlags, wholeNumber } from "../support/flags.ts";

const USAGE = `Usage: scripts/lab/simulate [options]
       scripts/lab/simulate --world [options]
       scripts/lab/simulate --mistakes

  --seeds N      default 500, with --seed 1
  --seed N       the first one (default: 1)
  --minutes N    instead of a number of seeds: start no further one after this time
  --all          continue after a failure, and count failures
  --plant NAME   plant a mistake: ${PLANTS.join(", ")}
  --steps N      of a robot by itself (default: ${STEPS})

For --world, robots and replicas of the service together:

  --robots N     default: few, from the seed
  --day N        simulated minutes until all faults end (default: few, from the seed)
  --acts N,…     only these parts of the plan happen, as a failing world names them
  --plant NAME   ${MISTAKES.slice(0, 2).join(", ")} and others, as --mistakes lists them

--mistakes plants each of those in turn, and prints the first seed that finds it. At the end of other runs a table counts the faults that
happened.

Examples:
  scripts/lab/simulate --seeds 500 --steps 6000
  scripts/lab/simulate --world --seed 12 --acts 3,17`;

const values = readFlags(USAGE, {
  world: { type: "boolean", default: false },
  seeds: { type: "string" },
  steps: { type: "string", default: String(STEPS) },
  seed: { type: "string" },
  plant: { type: "string" },
  robots: { type: "string" },
  day: { type: "string" },
  acts: { type: "string" },
  mistakes: { type: "boolean", default: false },
  all: { type: "boolean", default: false },
  minutes: { type: "string" },
});
const steps = wholeNumber(USAGE, "steps", values.steps);
const minutes = optionalNumber(USAGE, "minutes", values.minutes);
const first = optionalNumber(USAGE, "seed", values.seed) ?? 1;
const seeds =
  optionalNumber(USAGE, "seeds", values.seeds) ?? (minutes !== null ? Infinity : values.seed === undefined ? 500 : 1);
const [robots, day] = [optionalNumber(USAGE, "robots", values.robots), optionalNumber(USAGE, "day", values.day)];
const acts = values.acts?.split(",").map((act) => wholeNumber(USAGE, "acts", act));
const planned = {
  ...(robots === null ? {} : { robots }),
  ...(day === null ? {} : { minutes: day }),
  ...(acts === undefined ? {} : { acts }),
};
const plants: readonly string[] = values.world ? MISTAKES : PLANTS;
if (values.plant !== undefined && !plants.includes(values.plant))
  refuseFlags(USAGE, `--plant '${values.plant}' is no mistake`);

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
const endsMs = performance.now() + (minutes ?? Infinity) * 60_000;
const last = first - 1 + seeds;
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
  const report = await simulate({ seed, steps, plant });
  const { posts, starts, kills, power_cuts: powerCuts } = report.counts;
  return {
    ...report,
    counts: { posts, starts, kills, power_cuts: powerCuts },
    describe: () => describeFailure(report),
  };
}

async function runWorld(seed: number): Promise<Ran> {
  const mistake = MISTAKES.find((name) => name === values.plant);
  const options = { seed, mistake, ...planned };
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
