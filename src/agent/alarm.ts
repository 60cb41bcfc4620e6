import type { Clock } from "../platform/clock.ts";

/** The one thing the agent waits on: somebody rings, or the time is up. Rings while nobody waits are kept, as one. */
export interface Alarm {
  ring(): void;
  /** @param dueMs monotonic milliseconds; @throws `signal.reason` when the signal aborts. */
  wait(dueMs: number, signal: AbortSignal): Promise<"rung" | "due">;
}

/** Nothing needs a longer sleep, and it keeps timers in range. */
const LONGEST_WAIT_MS = 24 * 60 * 60_000;

export function createAlarm(clock: Clock): Alarm {
  let rung = false;
  let waker: AbortController | null = null;
  return {
    ring() {
      rung = true;
      waker?.abort();
    },
    async wait(dueMs, signal) {
      for (;;) {
        signal.throwIfAborted();
        if (rung) {
          rung = false;
          return "rung";
        }
        // Timers know whole milliseconds only and may fire one early; "due" is not said before it is true.
        const waitMs = Math.ceil(dueMs - clock.monotonicMs());
        if (waitMs <= 0) return "due";
        waker = new AbortController();
        try {
          await clock.sleep(Math.min(waitMs, LONGEST_WAIT_MS), AbortSignal.any([signal, waker.signal]));
        } catch (error) {
          if (!rung && !signal.aborted) throw error;
        } finally {
          waker = null;
        }
      }
    },
  };
}
