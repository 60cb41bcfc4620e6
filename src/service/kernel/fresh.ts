import type { Clock } from "../../platform/clock.ts";

/**
 * The same question, but put at most once in `freshMs`: whoever asks meanwhile gets the last answer, or waits for the one that
 * is on its way, so that a flood of them costs no more than a few. A failure is for those who wait for it, and is not kept.
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
