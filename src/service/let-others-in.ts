import type { Clock } from "../platform/clock.ts";

/** The next turn of the event loop, when requests that have arrived were looked at. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Long work that has let others in, and goes on in this order. */
const waiting: (() => void)[] = [];

/**
 * Lets others in: to be called between the steps of long work, because a local database answers at once, and who waits for nothing else
 * holds up everybody. Of all long work, one step is taken in each turn of the event loop.
 */
export function letOthersIn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(letOneGoOn);
  });
}

function letOneGoOn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(letOneGoOn);
}

/** How long work may go on before others are let in. */
const SLICE_MS = 5;

/** Turns that are kept short: the one in which a connection was accepted, and the next. */
let shortTurns = 0;

/**
 * To be called for each connection that is accepted. The event loop accepts one in a turn (uv__server_io in libuv 1.52), so while connections
 * come, turns are short: of all work in slices, one step is taken in each.
 */
export function connectionAccepted(): void {
  if (shortTurns === 0) setImmediate(countShortTurn);
  shortTurns = 2;
}

function countShortTurn(): void {
  shortTurns -= 1;
  if (shortTurns > 0) setImmediate(countShortTurn);
}

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
    if (shortTurns === 0 && clock.monotonic_ms() - begunMs < SLICE_MS) return undefined;
    return nextTurn().then(() => {
      begunMs = clock.monotonic_ms();
    });
  };
}
