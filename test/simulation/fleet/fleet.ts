/**
 * Robots and the service in one world, by seed: agents as released (world.ts), and replicas of the service as released
 * (service/replica.ts) with one database (service/database.ts), on one event queue and one source of randomness.
 *
 * All disturbances are drawn in advance (plan.ts), so that a failing seed can be reduced (shrink.ts). truth.ts checks the invariants.
 * At the end all disturbances stop and the world must settle.
 *
 * `scripts/lab/simulate --world --seed N` repeats a seed and prints its last events.
 */
import type { Machine } from "../../../src/platform/machine.ts";
import { failOnRejection } from "../claims/rejections.ts";
import { createDice, type Dice } from "../dice.ts";
import { shrugging } from "../editors.ts";
import { preload } from "../machine/preload.ts";
import { createWallClock } from "../machine/wall-clock.ts";
import { createScheduler } from "../scheduler.ts";
import { createTrace, type Trace } from "../trace.ts";
import { simulatedMinutes } from "../units.ts";
import { AGENT_MISTAKES, type AgentMistakeName } from "./agent-mistakes.ts";
import type { Disturbed } from "./disk-disturbances.ts";
import { createDisturbances } from "./disturbances.ts";
import { createOperator, type Operator } from "./operators.ts";
import { drawPlan, type Kind } from "./plan.ts";
import { createFleetRobot, type FleetRobot } from "./robots.ts";
import {
  NO_MISTAKE,
  SERVICE_MISTAKES,
  serviceMistake,
  type ServiceMistake,
  type ServiceMistakeName,
} from "./service-mistakes.ts";
import { createCluster } from "./service/cluster.ts";
import { createDatabase } from "./service/database.ts";
import { createLedger } from "./service/ledger.ts";
import { preparedDatabase } from "./service/prepared-database.ts";
import { createReplica, type Replica } from "./service/replica.ts";
import { createServiceDisk } from "./service/service-disk.ts";
import { createTruth } from "./truth.ts";

export interface FleetOptions {
  readonly seed: number;
  /** Number of robots; by default a few, from the seed. */
  readonly robots?: number;
  /** Minutes until all disturbances end; by default from the seed. */
  readonly minutes?: number;
  /** A planted mistake, to test that the simulation finds it. */
  readonly mistake?: MistakeName | undefined;
  /** Indices of the acts to perform; all by default. */
  readonly acts?: readonly number[];
}

export interface FleetReport {
  readonly seed: number;
  readonly robots: number;
  readonly steps: number;
  readonly simulatedMs: number;
  /** Number of occurrences of each fault. */
  readonly acts: Readonly<Record<string, number>>;
  /** Indices of all acts of the plan. */
  readonly planned: readonly number[];
  /** Requests that reached a replica. */
  readonly requests: number;
  readonly acknowledged: number;
  readonly traceHash: string;
  readonly failure: string | null;
  readonly trace: readonly string[];
}

export type MistakeName = ServiceMistakeName | AgentMistakeName;

function namesOf<Name extends string>(table: Readonly<Record<Name, unknown>>): readonly Name[] {
  const isName = (name: string): name is Name => name in table;
  return Object.keys(table).filter(isName);
}

export const MISTAKES: readonly MistakeName[] = [...namesOf(SERVICE_MISTAKES), ...namesOf(AGENT_MISTAKES)];

/** The first violation, and the last events before it. */
interface Found {
  failure: string | null;
  trace: readonly string[];
}

/** Microtasks and a few immediates: more than any request takes between two waits. */
const TURNS = 4;
const REPLICAS = 2;
/** For worlds without a given size. Larger worlds have more disturbances, so that each robot gets as many. */
const ROBOTS_MAXIMUM = 5;
const ROBOT_WEIGHT = 4;
/** Half an hour before the full hour at which usage periods are cut. */
const HOUR_NEAR_MS = simulatedMinutes(32.5);
/** Maximum difference of synchronized clocks. */
const SKEW_MS = 200;
/** Delay between the start or end of a period and its commit: normally, and with slow or frozen processes. */
const SLACK_MS = 2000;
const HELD_UP_MS = 60_000;
const LONGEST_WAIT_MS = simulatedMinutes(14);
/** Fractions: worlds with life cycles, and enrolled robots in such a world. */
const LIFE_CYCLES = 0.4;
const ENROLLED = 0.6;
/** Interval of looking for robots that need a person. */
const ATTENDING_MS = 10_000;
/** When it is checked that no robot still waits for a person. */
const ASKED_MS = simulatedMinutes(7);

export async function simulateFleet(options: FleetOptions): Promise<FleetReport> {
  await preload();
  const { bytes, organizations } = await preparedDatabase();
  const dice = createDice(options.seed);
  const trace: Trace = createTrace();
  const scheduler = createScheduler(dice.fork(), trace, TURNS);
  using disk = createServiceDisk(bytes, dice.fork());
  const database = createDatabase(disk);
  let seenCommits = 0;
  let seenVersion = "";
  const found: Found = { failure: null, trace: [] };
  const happened: Record<string, number> = {};
  const happens = (what: string) => {
    happened[what] = (happened[what] ?? 0) + 1;
  };
  const fail = (message: string) => {
    if (found.failure !== null) return;
    found.failure = message;
    trace.note(scheduler.nowMs, `! ${message}`);
    found.trace = trace.tail();
  };
  using _rejections = failOnRejection(fail);
  const ledger = createLedger(disk.watcher);
  const truth = createTruth({
    database: disk.watcher,
    scheduler,
    organizations,
    isReadable: () => disturbances.isDiskReadable(),
    fail,
  });
  // Some runs include a full hour, where usage periods are cut.
  const startMs = dice.pick([0, HOUR_NEAR_MS, HOUR_NEAR_MS]);
  const walls = Array.from({ length: REPLICAS }, () => {
    const wall = createWallClock(scheduler);
    wall.set(startMs + dice.between(-SKEW_MS, SKEW_MS));
    return wall;
  });
  const replicas: readonly Replica[] = Array.from({ length: REPLICAS }, (_, index) =>
    createReplica({
      name: `replica ${index}`,
      scheduler,
      dice: dice.fork(),
      trace,
      wall: walls[index] ?? createWallClock(scheduler),
      database,
      mistake: serviceMistakeOf(options.mistake),
      isDiskFailing: () => disturbances.isDiskFailing(),
      isHealthy: (url) => !disturbances.failing.has(url),
      onLog(level, text) {
        if (text.includes("sk_rps_")) fail(`a key is in the log: ${text}`);
        const isExpected = disturbances.isDiskFailing() && /^(task_failed|store_unavailable) /.test(text);
        if (level === "error" && !isExpected) fail(`the service logs an error: ${text}`);
      },
      fail,
    }),
  );
  const disturbances = createDisturbances(scheduler, trace);
  const cluster = createCluster({
    scheduler,
    dice: dice.fork(),
    replicas,
    onAnswer(received, answer) {
      trace.note(
        scheduler.nowMs,
        `${received.replica} answers ${received.request.method} ${received.request.url} ${answer.status}`,
      );
      truth.answered(received, answer);
    },
  });
  const count = options.robots ?? dice.pick([2, 3, 3, 4, 5]);
  // In some worlds robots enroll, and operators remove. Their separate dice keep the other worlds unchanged.
  const moreDice = createDice(~options.seed);
  const hasLifeCycle = moreDice.chance(LIFE_CYCLES);
  const robots: readonly FleetRobot[] = Array.from({ length: count }, (_, index) => {
    const organization = dice.pick(organizations);
    return createFleetRobot({
      name: `arm-${organization.mark}-${index}`,
      organization,
      address: `10.0.0.${1 + (index % 250)}`,
      isEnrolled: hasLifeCycle && moreDice.chance(ENROLLED),
      scheduler,
      dice: dice.fork(),
      trace,
      cluster,
      truth,
      mistake: agentMistake(options.mistake),
      count: happens,
      fail,
    });
  });

  const operators: readonly Operator[] = organizations.map((organization) =>
    createOperator({
      organization,
      robots: robots.filter((robot) => robot.organization === organization),
      scheduler,
      cluster,
      onRemove: (what) => truth.mayGo(what),
      fail,
    }),
  );
  // Usage can be computed to the second only if nothing delays a replica.
  const isSteady = dice.chance(0.3);
  const untilMs = simulatedMinutes(options.minutes ?? dice.pick([1, 1, 2, 3]));
  const disturbed: Disturbed = {
    replicas,
    cluster,
    disk,
    robots,
    addresses: [...robots, ...operators].map(({ address }) => address),
    onLoss(sinceMs) {
      truth.lose();
      ledger.lose(sinceMs, scheduler.nowMs);
    },
    checkAcknowledged: () => truth.checkAcknowledged(),
    count: happens,
  };
  const lifeCycle = hasLifeCycle ? operators.flatMap(({ lifeCycle: { kinds } }) => kinds) : [];
  const kinds: readonly Kind[] = [
    ...robots.map(({ actors }) => ({ what: "a robot's day", weight: ROBOT_WEIGHT, run: () => actors.act() })),
    ...operators.flatMap((operator) => operator.kinds(operators)),
    ...disturbances.kinds(disturbed).filter(({ isUnsteady = false }) => !isUnsteady || !isSteady),
    ...lifeCycle,
  ];
  const weight = weightOf(kinds);
  const surplus = ROBOT_WEIGHT * Math.max(0, count - ROBOTS_MAXIMUM) + weightOf(lifeCycle);
  const chance = dice.fork();
  const meanMs = (dice.pick([1500, 4000]) * (weight - surplus)) / weight;
  const planned = drawPlan(chance, kinds, meanMs, untilMs);
  const wanted = new Set(options.acts ?? planned.map(({ index }) => index));
  for (const act of planned) {
    if (!wanted.has(act.index)) continue;
    scheduler.after(act.atMs, null, `act ${act.index}`, () => {
      trace.note(scheduler.nowMs, `act ${act.index}: ${act.what}`, true);
      happens(act.what);
      shrugging(() => act.run(act.dice));
    });
  }

  for (const replica of replicas) replica.start();
  for (const { world, actors } of robots) {
    const atMs = dice.chance(0.6) ? dice.between(0, 3000) : dice.between(0, untilMs);
    scheduler.after(atMs, null, `${world.hostname} is switched on`, () => world.start());
    actors.begin();
  }
  await runUntil(() => false, untilMs);
  trace.note(scheduler.nowMs, "everything is mended", true);
  disturbances.mend(disturbed);
  for (const { actors } of robots) actors.retire();
  for (const operator of operators) operator.mend();
  if (hasLifeCycle) attend(moreDice.fork());
  if (!(await runUntil(isSettled, ASKED_MS))) {
    for (const robot of robots) if (robot.unsettled() !== null) robot.askAll();
    if (!(await runUntil(isSettled, LONGEST_WAIT_MS - ASKED_MS))) fail(`not settled: ${unsettled() ?? ""}`);
  }
  truth.checkAcknowledged();
  if (found.failure === null) {
    const complaint = ledger.complaint({
      nowMs: scheduler.nowMs,
      wall_ms: walls[0]?.wall_ms() ?? 0,
      toleranceMs: disturbances.hasHeldUp ? HELD_UP_MS : SLACK_MS,
      behindMs: disturbances.clocks.setMs,
      aheadMs: disturbances.clocks.believedMs,
    });
    if (complaint !== null) fail(complaint);
  }

  for (const { world } of robots) {
    world.supervised = false;
    world.kill();
  }
  for (const replica of replicas) replica.end();
  scheduler.end();
  await new Promise(setImmediate);
  return {
    seed: options.seed,
    robots: count,
    steps: scheduler.steps,
    simulatedMs: scheduler.nowMs,
    acts: happened,
    planned: planned.map(({ index }) => index),
    requests: cluster.requests,
    acknowledged: truth.acknowledged,
    traceHash: trace.hash(),
    ...found,
  };

  function attend(hand: Dice): void {
    for (const operator of operators) operator.lifeCycle.attend(hand);
    scheduler.after(ATTENDING_MS, null, "operators look after their robots", () => attend(hand));
  }

  function unsettled(): string | null {
    for (const robot of robots) {
      const what = robot.unsettled();
      if (what !== null) return `${robot.name}: ${what}`;
    }
    return truth.unsettled();
  }

  function isSettled(): boolean {
    return unsettled() === null;
  }

  async function runUntil(condition: () => boolean, limitMs: number): Promise<boolean> {
    const endMs = scheduler.nowMs + limitMs;
    scheduler.after(limitMs, null, "time is up", () => {});
    let steps = 0;
    while (found.failure === null && scheduler.dueMs() <= endMs) {
      if ((steps += 1) % 16 === 0 && condition()) return true;
      if (!(await scheduler.step())) break;
      if (database.commits === seenCommits) continue;
      seenCommits = database.commits;
      // Many steps commit nothing.
      const version = disk.watcher.version();
      if (version === seenVersion) continue;
      seenVersion = version;
      truth.look();
      ledger.look(scheduler.nowMs);
    }
    return found.failure !== null || condition();
  }
}

function weightOf(kinds: readonly Kind[]): number {
  return kinds.reduce((sum, { weight }) => sum + weight, 0);
}

function agentMistake(name: MistakeName | undefined): (machine: Machine) => Machine {
  return name !== undefined && isAgentMistake(name) ? AGENT_MISTAKES[name] : (machine) => machine;
}

function serviceMistakeOf(name: MistakeName | undefined): ServiceMistake {
  return name === undefined || isAgentMistake(name) ? NO_MISTAKE : serviceMistake(name);
}

function isAgentMistake(name: MistakeName): name is AgentMistakeName {
  return name in AGENT_MISTAKES;
}

export function describeFleetFailure({ seed, steps, failure, trace }: FleetReport, acts?: readonly number[]): string {
  const only = acts === undefined ? "" : ` --acts ${acts.length === 0 ? "none" : acts.join(",")}`;
  return [
    `seed ${seed}, step ${steps}: ${failure ?? "no failure"}`,
    ...trace,
    `again: scripts/lab/simulate --world --seed ${seed}${only}`,
  ].join("\n");
}
