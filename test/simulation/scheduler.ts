import type { Dice } from "./dice.ts";
import type { Trace } from "./trace.ts";

/** A simulated process. After a kill, its pending events never happen. */
export interface Process {
  readonly id: number;
  readonly startedMs: number;
  alive: boolean;
  /** Stopped as by SIGSTOP: its events wait until it continues. */
  stopped?: boolean;
}

/** A future event, unless it is cancelled or its process dies first. */
export interface Event {
  cancel(): void;
}

/**
 * The only source of time. Events run one at a time, ordered by time and then by chance. Between two events the program runs until it is
 * idle, and no time passes.
 */
export interface Scheduler {
  readonly nowMs: number;
  /** Number of events so far. */
  readonly steps: number;
  /** @param drop called instead of `run` if the owner dies or the world ends first. */
  after(delayMs: number, owner: Process | null, label: string, run: () => void, drop?: () => void): Event;
  /** Continues a stopped process: its overdue events happen now. */
  goOn(process: Process): void;
  /** Runs the next event and all its immediate consequences. False when none is left. */
  step(): Promise<boolean>;
  /** Time of the next event; Infinity without one. */
  dueMs(): number;
  /** Drops all pending events. */
  end(): void;
}

interface Entry extends Event {
  timeMs: number;
  readonly tie: number;
  readonly owner: Process | null;
  readonly label: string;
  run: (() => void) | null;
  readonly drop: (() => void) | undefined;
}

/** @param turns of the event loop that a program may take until it waits for the next event. */
export function createScheduler(dice: Dice, trace: Trace, turns = 1): Scheduler {
  const heap: Entry[] = [];
  const held = new Map<Process, Entry[]>();
  let nowMs = 0;
  let steps = 0;

  /** Removes cancelled events from the front of the queue. */
  function front(): Entry | undefined {
    for (let entry = heap[0]; entry !== undefined; entry = heap[0]) {
      const { owner } = entry;
      const isComing = entry.run !== null && owner?.alive !== false;
      if (isComing && owner?.stopped !== true) return entry;
      pop(heap);
      if (isComing && owner !== null) held.set(owner, [...(held.get(owner) ?? []), entry]);
      else entry.drop?.();
    }
    return undefined;
  }

  return {
    get nowMs() {
      return nowMs;
    },
    get steps() {
      return steps;
    },
    after(delayMs, owner, label, run, drop) {
      if (!(delayMs >= 0) || delayMs === Number.POSITIVE_INFINITY)
        throw new RangeError(`Cannot wait ${delayMs} ms for ${label}`);
      const entry: Entry = {
        timeMs: nowMs + delayMs,
        tie: dice.unit(),
        owner,
        label,
        run,
        drop,
        cancel() {
          entry.run = null;
        },
      };
      push(heap, entry);
      return entry;
    },
    goOn(process) {
      process.stopped = false;
      for (const entry of held.get(process) ?? []) push(heap, Object.assign(entry, { timeMs: nowMs }));
      held.delete(process);
    },
    async step() {
      const entry = front();
      if (entry === undefined) return false;
      pop(heap);
      nowMs = entry.timeMs;
      steps += 1;
      trace.note(nowMs, entry.label);
      entry.run?.();
      // An immediate runs after all promises that settle without another event.
      for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
      return true;
    },
    dueMs: () => front()?.timeMs ?? Number.POSITIVE_INFINITY,
    end() {
      for (const { drop } of [...heap, ...[...held.values()].flat()]) drop?.();
    },
  };
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.timeMs < other.timeMs || (one.timeMs === other.timeMs && one.tie < other.tie);
}

function push(heap: Entry[], entry: Entry): void {
  let index = heap.length;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || !isBefore(entry, above)) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = entry;
}

function pop(heap: Entry[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    const left = heap[2 * index + 1];
    const right = heap[2 * index + 2];
    const takesRight = right !== undefined && left !== undefined && isBefore(right, left);
    const child = takesRight ? right : left;
    if (child === undefined || !isBefore(child, last)) break;
    heap[index] = child;
    index = 2 * index + (takesRight ? 2 : 1);
  }
  heap[index] = last;
}
