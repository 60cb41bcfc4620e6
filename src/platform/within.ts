import type { Clock } from "./clock.ts";

/** Waits for `work`, but not for ever. @returns null when the time is up. @throws the signal's reason. */
export async function within<T>(
  work: Promise<T>,
  limitMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<T | null> {
  const done = new AbortController();
  const over = clock.sleep(limitMs, AbortSignal.any([signal, done.signal])).then(() => null);
  try {
    return await Promise.race([work, over]);
  } finally {
    done.abort();
  }
}
