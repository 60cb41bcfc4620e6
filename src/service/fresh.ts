import type { Clock } from "../platform/clock.ts";

/**
 * The same question, but put at most once in `fresh_ms`: whoever asks meanwhile gets the last answer, or waits for the one that
 * is on its way, so that a flood of them costs no more than a few. A failure is for those who wait for it, and is not kept.
 */
export function createFresh<T>(
  ask: () => Promise<T>,
  fresh_ms: number,
  clock: Pick<Clock, "monotonic_ms">,
): () => Promise<T> {
  let last: Promise<T> | null = null;
  let fresh_until_ms = Number.POSITIVE_INFINITY;

  async function askAnew(): Promise<T> {
    try {
      const answer = await ask();
      fresh_until_ms = clock.monotonic_ms() + fresh_ms;
      return answer;
    } catch (error) {
      fresh_until_ms = Number.NEGATIVE_INFINITY;
      throw error;
    }
  }

  return () => {
    if (last === null || clock.monotonic_ms() >= fresh_until_ms) {
      fresh_until_ms = Number.POSITIVE_INFINITY;
      last = askAnew();
    }
    return last;
  };
}
