import type { Clock } from "../platform/clock.ts";

/** The stop of a daemon, and what it waits for. */
export interface Stopping {
  /** Aborts at the stop. */
  readonly signal: AbortSignal;
  stop(): void;
  /**
   * Waits for the work, but only for a short time after a stop: a hanging disk must not delay the exit.
   *
   * @throws `signal.reason` when that time is over.
   */
  unlessStopped(work: Promise<void>): Promise<void>;
}

/** Work under way at a stop gets this long to finish. */
const STOP_LIMIT_MS = 2000;

export function createStopping(clock: Clock): Stopping {
  const stopping = new AbortController();
  const { signal } = stopping;
  return {
    signal,
    stop: () => stopping.abort(),
    async unlessStopped(work) {
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
