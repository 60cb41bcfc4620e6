import type { Clock } from "../platform/clock.ts";

/** Work under way at a stop gets this long to finish. */
const STOP_LIMIT_MS = 2000;

/** The stop of a daemon, and what it waits for. */
export function createStopping(clock: Clock) {
  const stopping = new AbortController();
  const { signal } = stopping;
  return {
    /** Aborts at the stop. */
    signal,
    stop: () => stopping.abort(),
    /**
     * Waits for the work, but only for a short time after a stop: a hanging disk must not delay the exit.
     *
     * @throws `signal.reason` when that time is over.
     */
    async unlessStopped(work: Promise<void>) {
      const { promise: stopped, reject } = Promise.withResolvers<never>();
      const over = new AbortController();
      const giveUp = () => {
        void clock.sleep(STOP_LIMIT_MS, over.signal).then(
          () => reject(signal.reason),
          () => {},
        );
      };
      if (signal.aborted) giveUp();
      else signal.addEventListener("abort", giveUp);
      try {
        await Promise.race([work, stopped]);
      } finally {
        over.abort();
        signal.removeEventListener("abort", giveUp);
      }
    },
  };
}
