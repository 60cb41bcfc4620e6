/** The time sources of the programs: a wall clock, which may jump, and a monotonic clock, which does not. */
export interface Clock {
  /** Wall clock in milliseconds since the Unix epoch. For timestamps, never for waits. */
  wallMs(): number;
  /** Monotonic milliseconds from an arbitrary origin. For waits and durations. */
  monotonicMs(): number;
  /** Resolves after `durationMs` of monotonic time; rejects with `signal.reason` as soon as the signal aborts. */
  sleep(durationMs: number, signal?: AbortSignal): Promise<void>;
}

/** setTimeout takes a signed 32-bit delay; a longer one fires at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  // performance.now() would load perf_hooks (1 ms at start).
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
  sleep(durationMs, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
        Math.min(durationMs, LONGEST_TIMER_MS),
      );
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  },
};

/** @param epochMs milliseconds since the Unix epoch. @returns UTC as in RFC 3339, with milliseconds. */
export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

export function isoNow(clock: Pick<Clock, "wallMs">): string {
  return isoTime(clock.wallMs());
}

/** Waits for `work`, but not for ever. @returns null when the time is up. @throws the signal's reason. */
export async function within<T>(
  work: Promise<T>,
  limitMs: number,
  clock: Clock,
  signal?: AbortSignal,
): Promise<T | null> {
  const done = new AbortController();
  const ends = signal === undefined ? done.signal : AbortSignal.any([signal, done.signal]);
  const over = clock.sleep(limitMs, ends).then(() => null);
  try {
    return await Promise.race([work, over]);
  } finally {
    done.abort();
  }
}
