import type { Clock } from "../../platform/clock.ts";

/**
 * Caches the result of a call for `freshMs`. Calls meanwhile get the cached result or wait for the running call, so that a flood of calls
 * costs little. Failures reject the waiting calls and are not cached.
 *
 * @param restRatio a result is cached at least that many times as long as its call took.
 */
export function createFresh<T>(
  ask: () => Promise<T>,
  freshMs: number,
  clock: Pick<Clock, "monotonicMs">,
  restRatio = 0,
): () => Promise<T> {
  let last: Promise<T> | null = null;
  let freshUntilMs = Number.POSITIVE_INFINITY;

  async function askAnew(): Promise<T> {
    try {
      const startedMs = clock.monotonicMs();
      const answer = await ask();
      const endedMs = clock.monotonicMs();
      freshUntilMs = endedMs + Math.max(freshMs, restRatio * (endedMs - startedMs));
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

/** Calls `ask`; concurrent calls about the same thing may share a result. */
export type Shared<T> = (about: string, ask: () => Promise<T>) => Promise<T>;

interface Question<T> {
  readonly answer: Promise<T>;
  /** The next call, for all callers that arrived during this one. */
  next: Promise<T> | null;
}

/**
 * Coalesces concurrent calls: callers that arrive during a call wait, and share one further call that starts after it. So no caller gets a
 * result from before its call, and a flood costs no more than one call at a time.
 */
export function createShared<T>(): Shared<T> {
  const underWay = new Map<string, Question<T>>();

  function put(about: string, ask: () => Promise<T>): Promise<T> {
    const question: Question<T> = { answer: ask(), next: null };
    underWay.set(about, question);
    const forget = () => {
      if (question.next === null) underWay.delete(about);
    };
    question.answer.then(forget, forget);
    return question.answer;
  }

  return (about, ask) => {
    const earlier = underWay.get(about);
    if (earlier === undefined) return put(about, ask);
    const again = () => put(about, ask);
    earlier.next ??= earlier.answer.then(again, again);
    return earlier.next;
  };
}
