import type { Clock } from "../../../platform/clock.ts";

/** While connections arrive, work runs in one of this many turns of the event loop. */
const DEFERRED_TURNS = 32;

/** Turns until connections no longer count as arriving: the one in which the last was accepted, and the next. */
let turnsToQuiet = 0;
/** Consecutive turns in which connections arrived. */
let busyTurns = 0;

/**
 * Call this for each accepted connection. The event loop accepts one per turn (uv__server_io in libuv 1.52), so while connections arrive,
 * work is deferred: a turn then takes a tenth of a millisecond, and not as long as the work of all connected clients.
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

export function areConnectionsArriving(): boolean {
  return turnsToQuiet > 0;
}

function isWorkDeferred(): boolean {
  return areConnectionsArriving() && busyTurns % DEFERRED_TURNS !== DEFERRED_TURNS - 1;
}

/** Resolves in the next turn of the event loop, after arrived requests were read; later while connections arrive. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resume, resolve);
  });
}

function resume(resolve: () => void): void {
  if (isWorkDeferred()) setImmediate(resume, resolve);
  else resolve();
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
    if (yielded.length === 1) void nextTurn().then(resumeOne);
  });
}

function resumeOne(): void {
  yielded.shift()?.();
  if (yielded.length > 0) void nextTurn().then(resumeOne);
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
    if (!isWorkDeferred() && clock.monotonicMs() - begunMs < SLICE_MS) return undefined;
    return nextTurn().then(() => {
      begunMs = clock.monotonicMs();
    });
  };
}

/** Jobs of one pace in a turn of the event loop. */
const PACED_IN_TURN = 16;

/** For what may happen to thousands of connections in the same turn: runs short jobs in the order of the calls, a few in each turn. */
export function createPace(): (job: () => void) => void {
  const waiting: (() => void)[] = [];
  let count = 0;

  function run(job: () => void): void {
    if (count === 0) setImmediate(nextTurn);
    count += 1;
    job();
  }

  function nextTurn(): void {
    count = 0;
    for (const job of waiting.splice(0, PACED_IN_TURN)) run(job);
  }

  return (job) => {
    if (count < PACED_IN_TURN) run(job);
    else waiting.push(job);
  };
}
