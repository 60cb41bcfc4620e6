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
