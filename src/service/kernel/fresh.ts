import type { Clock } from "../../platform/clock.ts";

/**
 * Caches the result of a call for `freshMs`. Calls meanwhile get the cached result or wait for the running call, so that a flood of calls
 * costs little. Failures reject the waiting calls and are not cached.
 */
export function createFresh<T>(
  ask: () => Promise<T>,
  freshMs: number,
  clock: Pick<Clock, "monotonicMs">,
): () => Promise<T> {
  let last: Promise<T> | null = null;
  let freshUntilMs = Number.POSITIVE_INFINITY;

  async function askAnew(): Promise<T> {
    try {
      const answer = await ask();
      freshUntilMs = clock.monotonicMs() + freshMs;
      return answer;
    } catch (error) {
      freshUntilMs = Number.NEGATIVE_INFINITY;
      throw error;
    }
  }

  return () => {
    if (last === null || clock.monotonicMs() >= freshUntilMs) {
      freshUntilMs = Number.POSITIVE_INFINITY;
      last = askAnew();
    }
    return last;
  };
}
