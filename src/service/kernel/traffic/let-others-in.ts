import type { Clock } from "../../../platform/clock.ts";

/** While connections come, work goes on in one of so many turns of the event loop. */
const HELD_TURNS = 32;

/** Turns until no connection counts as coming: the one in which the last was accepted, and the next. */
let turnsToQuiet = 0;
/** Turns in which connections came without a pause. */
let busyTurns = 0;

/**
 * To be called for each connection that is accepted. The event loop accepts one in a turn (uv__server_io in libuv 1.52), so while connections
 * come, work waits: a turn takes a tenth of a millisecond then, and not as long as the work of all who are connected.
 */
export function connectionAccepted(): void {
  if (turnsToQuiet === 0) setImmediate(countTurn);
  turnsToQuiet = 2;
}

function countTurn(): void {
  turnsToQuiet -= 1;
  busyTurns = turnsToQuiet === 0 ? 0 : busyTurns + 1;
  if (turnsToQuiet > 0) setImmediate(countTurn);
}

export function areConnectionsComing(): boolean {
  return turnsToQuiet > 0;
}

/** Whether work waits for them. */
function isHeld(): boolean {
  return areConnectionsComing() && busyTurns % HELD_TURNS !== HELD_TURNS - 1;
}

/** A turn of the event loop later, when requests that have arrived were looked at, and connections that came are accepted. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(goOn, resolve);
  });
}

function goOn(resolve: () => void): void {
  if (isHeld()) setImmediate(goOn, resolve);
  else resolve();
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
    if (waiting.length === 1) void nextTurn().then(letOneGoOn);
  });
}

function letOneGoOn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) void nextTurn().then(letOneGoOn);
}

/** How long work may go on before others are let in. */
const SLICE_MS = 5;

/**
 * For long work in small steps: what it returns is called after each step, and lets others in where the work went on for long enough.
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
    if (!isHeld() && clock.monotonicMs() - begunMs < SLICE_MS) return undefined;
    return nextTurn().then(() => {
      begunMs = clock.monotonicMs();
    });
  };
}
