/** Puts a question for somebody; the answer may be one that others wait for too. */
export type Shared<T> = (about: string, ask: () => Promise<T>) => Promise<T>;

interface Question<T> {
  readonly answer: Promise<T>;
  /** For all who asked since this one was put. */
  next: Promise<T> | null;
}

/**
 * The same question of many at once: while it is being answered, whoever asks it too waits, and it is put once more for all of them. So
 * nobody gets an answer that is older than their question, and a flood of one question costs no more than one at a time.
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
