import type { Clock } from "../../../src/platform/clock.ts";
import type { Dice } from "../dice.ts";
import type { Process, Scheduler } from "../scheduler.ts";

/** The wall clock of the simulated machine: runs on from the time to which it was set. */
export interface WallClock {
  wall_ms(): number;
  /** True time, outside of the machine. */
  trueMs(): number;
  /** Offset from true time. */
  readonly offsetMs: number;
  /** Number of times it was set. */
  readonly steps: number;
  /** Simulated time of the last forward step. */
  readonly lastForwardMs: number;
  set(offsetMs: number): void;
}

/** True time at which the simulation starts. */
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

/** Node's timers count whole milliseconds and may fire one early; a busy machine fires them late. */
const EARLY_MS = 0.9;
const USUALLY_LATE_MS = 2;
const RARELY_LATE_MS = 120;

/** The clock of one process. An invalid delay is a bug of the program: setTimeout would turn it into a busy loop. */
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
        // Node keeps a combined signal with a listener alive, together with its waiter.
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
