import type { Clock } from "../platform/clock.ts";

/** Keeps timers in range (setTimeout takes at most 2^31 - 1 ms). */
const LONGEST_WAIT_MS = 24 * 60 * 60_000;

/** Wakes the agent's loop: `ring` is called, or the time is up. Rings while nobody waits are kept and coalesce into one. */
export function createAlarm(clock: Clock) {
  let rung = false;
  let waker: AbortController | null = null;
  return {
    ring() {
      rung = true;
      waker?.abort();
    },
    /** @param dueMs monotonic milliseconds; @throws `signal.reason` when the signal aborts. */
    async wait(dueMs: number, signal: AbortSignal): Promise<"rung" | "due"> {
      for (;;) {
        signal.throwIfAborted();
        if (rung) {
          rung = false;
          return "rung";
        }
        // Timers have a resolution of 1 ms and may fire early, so the time is checked again after the sleep.
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
