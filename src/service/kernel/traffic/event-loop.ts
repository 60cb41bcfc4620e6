import type { Clock } from "../../../platform/clock.ts";

/** Resolves in the next turn of the event loop, after arrived requests were read. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Long work that has yielded, in the order in which it resumes. */
const yielded: (() => void)[] = [];

/**
 * Call this between the steps of long work. A local database answers without waiting, so without it the work would block all requests. Of all
 * work that yields here, one step runs in each turn of the event loop.
 */
export function yieldEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    yielded.push(resolve);
    if (yielded.length === 1) setImmediate(resumeOne);
  });
}

function resumeOne(): void {
  yielded.shift()?.();
  if (yielded.length > 0) setImmediate(resumeOne);
}

/** How long work may run before it yields. */
const SLICE_MS = 5;

/**
 * For long work in small steps: call the returned function after each step; it yields the event loop when the time slice is over.
 *
 *     const yieldWhenDue = createTimeSlices(clock);
 *     for (const fleet of fleets) {
 *       judge(fleet);
 *       await yieldWhenDue();
 *     }
 */
export function createTimeSlices(clock: Pick<Clock, "monotonicMs">): () => Promise<void> | undefined {
  let begunMs = clock.monotonicMs();
  return () => {
    if (clock.monotonicMs() - begunMs < SLICE_MS) return undefined;
    return nextTurn().then(() => {
      begunMs = clock.monotonicMs();
    });
  };
}
