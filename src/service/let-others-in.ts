import type { Clock } from "../platform/clock.ts";

/**
 * Lets requests that have arrived be looked at. A local database answers at once: who asks it again and again without this, and
 * waits for nothing else, holds up everybody.
 */
export function letOthersIn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** How long work may go on before others are let in. Several such pieces of work may meet in one turn of the event loop. */
const SLICE_MS = 10;

/**
 * For long work in small steps: what it returns is called after each step, and lets others in where the work went on for long enough.
 *
 *     const yieldWhenDue = createTimeSlices(clock);
 *     for (const fleet of fleets) {
 *       judge(fleet);
 *       await yieldWhenDue();
 *     }
 */
export function createTimeSlices(clock: Pick<Clock, "monotonic_ms">): () => Promise<void> | undefined {
  let begunMs = clock.monotonic_ms();
  return () => {
    if (clock.monotonic_ms() - begunMs < SLICE_MS) return undefined;
    return letOthersIn().then(() => {
      begunMs = clock.monotonic_ms();
    });
  };
}
