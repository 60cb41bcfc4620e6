/**
 * Simulation of the complete daemon on a simulated machine, by seed.
 *
 * The world (world.ts) is a robot computer: a disk that loses unsynced data (machine/disk.ts), operations that take time
 * (machine/simulated-files.ts), late and lost events (machine/simulated-events.ts), clocks that are set (machine/wall-clock.ts), and an
 * unreliable network to a hosted service (machine/network.ts, weather.ts). Everything runs on one event queue (scheduler.ts), and every
 * random choice comes from one source (dice.ts), so a seed determines the run and can be repeated.
 *
 * The daemon runs as released (machine/daemon.ts). Actors (actors.ts, editors.ts) edit its files in every way, cut its power, kill it, fill
 * its disk, and set its clock. Witnesses check the claims:
 *
 * 1. claims/honest-digests.ts: every sent digest is of a state that was on the disk at one moment, recently, and long enough; one robot
 * 2. claims/patience.ts, claims/curiosity.ts: no more requests than backoff, Retry-After, rate cap and people allow
 * 3. claims/durability.ts: after any crash the state file is complete, old or new
 * 4. claims/discretion.ts: no text contains the key, and log lines only report news
 * 5. here: the daemon never throws; once all faults end, the service holds the state of the disk within bounded time, and then the daemon
 * is silent: no request, no write, no log line
 *
 * `scripts/lab/simulate --seed N` repeats a seed and prints its last events.
 */
import { createActors } from "./actors.ts";
import { checkSettled, checkSilence } from "./claims/convergence.ts";
import { curiosity } from "./claims/curiosity.ts";
import { discretion } from "./claims/discretion.ts";
import { durability } from "./claims/durability.ts";
import { honestDigests } from "./claims/honest-digests.ts";
import { patience } from "./claims/patience.ts";
import { failOnRejection } from "./claims/rejections.ts";
import { createDice } from "./dice.ts";
import { preload } from "./machine/preload.ts";
import { TABLES } from "./machine/robot-files.ts";
import type { Plant } from "./plants.ts";
import { createWorld, type World } from "./world.ts";

/** Default number of events before all faults end: some minutes. A seed determines a run only together with this number. */
export const STEPS = 6000;

export interface SimulationOptions {
  readonly seed: number;
  /** Number of events before all faults end. */
  readonly steps?: number;
  readonly plant?: Plant | null;
}

export interface SimulationReport {
  readonly seed: number;
  readonly steps: number;
  readonly simulatedMs: number;
  readonly counts: World["counts"];
  /** Equal for equal runs. */
  readonly traceHash: string;
  /** The violation; null without one. */
  readonly failure: string | null;
  /** The last events, oldest first. */
  readonly trace: readonly string[];
}

/** Runs one seed. Await it before the next call. */
export async function simulate({ seed, steps = STEPS, plant = null }: SimulationOptions): Promise<SimulationReport> {
  await preload();
  const dice = createDice(~seed);
  const world = createWorld(seed, {
    granularityMs: dice.pick([1, 4, 10, 10, 1000]),
    silentFolders: dice.chance(0.15) ? [TABLES] : [],
    plant,
  });
  const patient = patience(world);
  const durable = durability(world);
  const curious = curiosity(world);
  world.watchedBy(honestDigests(world), patient, curious, durable, discretion(world));
  const actors = createActors(world, { patience: patient, durability: durable, curiosity: curious });

  using _rejections = failOnRejection((message) => world.fail(message));
  await world.runFor(dice.between(0, 3000));
  world.start();
  actors.begin();
  await world.runUntil(() => world.scheduler.steps >= steps, Number.MAX_SAFE_INTEGER);
  if (world.failure === null) actors.retire();
  await checkSettled(world);
  await checkSilence(world);
  // Pending work of a failed run must not continue into the next seed.
  world.supervised = false;
  world.kill();
  world.scheduler.end();
  return {
    seed,
    steps: world.scheduler.steps,
    simulatedMs: world.scheduler.nowMs,
    counts: world.counts,
    traceHash: world.trace.hash(),
    failure: world.failure,
    trace: world.lastMoments,
  };
}

/** The report of a failed seed. */
export function describeFailure(report: SimulationReport): string {
  const { seed, steps, failure, trace } = report;
  return [
    `seed ${seed}, step ${steps}: ${failure ?? "no failure"}`,
    ...trace,
    `again: scripts/lab/simulate --seed ${seed}`,
  ].join("\n");
}
