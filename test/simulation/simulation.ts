/**
 * Simulation: the whole daemon on a machine that does not exist, by seed.
 *
 * World (world.ts) is a robot computer: a disk that remembers what was synced and forgets the rest (machine/disk.ts), operations that take
 * time (machine/simulated-files.ts), events that are late or lost (machine/simulated-events.ts), clocks that are set (machine/wall-clock.ts), and a
 * network with bad weather before a hosted service (machine/network.ts, weather.ts). All of it runs on one queue of events (scheduler.ts); every
 * choice is thrown with dice (dice.ts), so that a seed is a schedule that can be run again.
 *
 * On it runs the daemon as it is shipped (machine/daemon.ts). Actors (actors.ts, editors.ts) edit its files in every way, cut its power, kill
 * it, fill its disk, set its clock; witnesses watch meanwhile:
 *
 * 1. claims/honest-digests.ts: only digests of states that were on the disk at one moment, lately, and for long enough; one robot, never two
 * 2. claims/patience.ts, claims/curiosity.ts: no more requests than backoff, Retry-After, rate cap and people allow
 * 3. claims/durability.ts: the state file after any crash is old or new, whole
 * 4. claims/discretion.ts: the key in no text, log lines as many as there is news
 * 5. here: the daemon never throws; once all is mended the service holds what is on the disk, within bounded time, and then
 *    there is silence: no request, no write, no line
 *
 * `node scripts/simulate.ts --seed N` runs a seed again and shows its last moments.
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

/** Events of a seed before everything is mended, unless told otherwise: some minutes of a hard day. A seed is a schedule only together with these. */
export const STEPS = 6000;

export interface SimulationOptions {
  readonly seed: number;
  /** Events before everything is mended. */
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
  /** What must not be, null where nothing was found. */
  readonly failure: string | null;
  /** The last moments, oldest first. */
  readonly trace: readonly string[];
}

/** Runs one seed. Not to be called again before it resolved. */
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
  // What was under way when a check failed must not run into the next seed.
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

/** What a person needs to see of a failed seed. */
export function describeFailure(report: SimulationReport): string {
  const { seed, steps, failure, trace } = report;
  return [
    `seed ${seed}, step ${steps}: ${failure ?? "no failure"}`,
    ...trace,
    `again: node scripts/simulate.ts --seed ${seed}`,
  ].join("\n");
}
