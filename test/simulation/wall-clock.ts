import type { Clock } from "../../src/platform/clock.ts";
import type { Dice } from "./dice.ts";
import type { Process, Scheduler } from "./scheduler.ts";

/** The clock on the wall of the simulated machine. It shows what it was set to, and runs on from there. */
export interface WallClock {
  wall_ms(): number;
  /** Real time, as the rest of the world has it. */
  true_ms(): number;
  /** How far it is from real time. */
  readonly offset_ms: number;
  /** How often it was set. */
  readonly steps: number;
  /** When it was last set forward, in simulated time. */
  readonly last_forward_ms: number;
  set(offset_ms: number): void;
}

/** Long before anything: the moment the simulation begins. */
export const BEGINNING_MS = Date.UTC(2026, 2, 14, 9, 26, 53, 589);

export function createWallClock(scheduler: Scheduler): WallClock {
  let offset_ms = 0;
  let steps = 0;
  let last_forward_ms = Number.NEGATIVE_INFINITY;
  const true_ms = () => BEGINNING_MS + scheduler.now_ms;
  return {
    wall_ms: () => true_ms() + offset_ms,
    true_ms,
    get offset_ms() {
      return offset_ms;
    },
    get steps() {
      return steps;
    },
    get last_forward_ms() {
      return last_forward_ms;
    },
    set(next_ms) {
      if (next_ms > offset_ms) last_forward_ms = scheduler.now_ms;
      offset_ms = next_ms;
      steps += 1;
    },
  };
}

/** Node's timers count whole milliseconds and may end one early; a busy machine lets them end late. */
const EARLY_MS = 0.9;
const USUALLY_LATE_MS = 2;
const RARELY_LATE_MS = 120;

/** The clock of one process. A wait that makes no sense is a bug of the program: setTimeout would turn it into a busy loop. */
export function processClock(scheduler: Scheduler, wall: WallClock, process: Process, dice: Dice): Clock {
  return {
    wall_ms: wall.wall_ms,
    monotonic_ms: () => scheduler.now_ms - process.started_ms,
    sleep(duration_ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted === true) {
          reject(signal.reason);
          return;
        }
        const late_ms = dice.chance(0.02) ? dice.between(0, RARELY_LATE_MS) : dice.between(-EARLY_MS, USUALLY_LATE_MS);
        const timer = scheduler.after(Math.max(0, duration_ms + late_ms), process, "timer", () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        });
        const onAbort = () => {
          timer.cancel();
          reject(signal?.reason);
        };
        signal?.addEventListener("abort", onAbort, { once: true });
      });
    },
  };
}
