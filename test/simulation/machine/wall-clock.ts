import type { Clock } from "../../../src/platform/clock.ts";
import type { Dice } from "../dice.ts";
import type { Process, Scheduler } from "../scheduler.ts";

/** The clock on the wall of the simulated machine. It shows what it was set to, and runs on from there. */
export interface WallClock {
  wall_ms(): number;
  /** Real time, as the rest of the world has it. */
  trueMs(): number;
  /** How far it is from real time. */
  readonly offsetMs: number;
  /** How often it was set. */
  readonly steps: number;
  /** When it was last set forward, in simulated time. */
  readonly lastForwardMs: number;
  set(offsetMs: number): void;
}

/** Long before anything: the moment the simulation begins. */
export const BEGINNING_MS = Date.UTC(2026, 2, 14, 9, 26, 53, 589);

export function createWallClock(scheduler: Scheduler): WallClock {
  let offsetMs = 0;
  let steps = 0;
  let lastForwardMs = Number.NEGATIVE_INFINITY;
  const trueMs = () => BEGINNING_MS + scheduler.nowMs;
  return {
    wall_ms: () => trueMs() + offsetMs,
    trueMs,
    get offsetMs() {
      return offsetMs;
    },
    get steps() {
      return steps;
    },
    get lastForwardMs() {
      return lastForwardMs;
    },
    set(nextMs) {
      if (nextMs > offsetMs) lastForwardMs = scheduler.nowMs;
      offsetMs = nextMs;
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
    wallMs: wall.wall_ms,
    monotonicMs: () => scheduler.nowMs - process.startedMs,
    sleep(durationMs, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted === true) {
          reject(signal.reason);
          return;
        }
        const lateMs = dice.chance(0.02) ? dice.between(0, RARELY_LATE_MS) : dice.between(-EARLY_MS, USUALLY_LATE_MS);
        // Node keeps a combined signal that somebody listens to, and with it whoever waits for it.
        const forget = () => signal?.removeEventListener("abort", onAbort);
        const done = () => {
          forget();
          resolve();
        };
        const timer = scheduler.after(Math.max(0, durationMs + lateMs), process, "timer", done, forget);
        const onAbort = () => {
          timer.cancel();
          reject(signal?.reason);
        };
        signal?.addEventListener("abort", onAbort, { once: true });
      });
    },
  };
}
