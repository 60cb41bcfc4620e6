import { nextTurn } from "../traffic/event-loop.ts";
import type { Transaction } from "./tables.ts";
import { StoreBusyError } from "./unavailable.ts";

/** A write that waits or runs. */
export interface PendingWrite {
  /** Runs the job and keeps its result for `commit`. May be called again after a rollback. */
  readonly run: (transaction: Transaction) => Promise<void>;
  /** Resolves the write with its result; call this when the result is durable. */
  readonly commit: () => void;
  readonly fail: (error: unknown) => void;
}

/** How a database runs writes. Its promises never reject. */
export interface WriteRunner {
  /**
   * Runs writes in one commit and settles them; resolves with those that must run alone instead. A write is taken from `batch` when it is
   * its turn, so that one that arrives while others run is still part of their commit; what is not taken waits for the next one.
   */
  together(batch: Iterable<PendingWrite>): Promise<readonly PendingWrite[]>;
  /** Runs and settles one write. */
  alone(write: PendingWrite): Promise<void>;
  /** How many commits may run at the same time. */
  readonly batches: number;
}

/** Writes that may wait; each holds at most one request body in memory. */
export const PENDING_WRITES_MAXIMUM = 1024;
/** Writes in one commit, so that the first need not wait for all others. */
export const BATCH_MAXIMUM = 128;

/** When this many writes wait during a commit, a database that can do so begins another commit. */
const ANOTHER_BATCH = 32;

/** How often a commit is postponed because more writes have arrived. */
const POSTPONED_MAXIMUM = 8;

/** Runs waiting writes in one commit, because the commit is what costs. */
export interface Writer {
  /** @throws StoreBusyError when too many wait. */
  write<T>(job: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Resolves when no write waits. */
  idle(): Promise<void>;
}

/** Resolves durable writes. Each resolution continues a request, so the event loop is yielded in between. */
export async function commitAll(
  writes: readonly PendingWrite[],
  yieldWhenDue: () => Promise<void> | undefined,
): Promise<void> {
  for (const write of writes) {
    write.commit();
    await yieldWhenDue();
  }
}

export function createWriter(runner: WriteRunner): Writer {
  const pending: PendingWrite[] = [];
  const batches = new Set<Promise<void>>();
  const alone = new Set<Promise<void>>();
  /** Number of `batches` that will still take pending writes. */
  let draining = 0;

  function track(running: Set<Promise<void>>, work: Promise<void>): void {
    const tracked = work.finally(() => running.delete(tracked));
    running.add(tracked);
  }

  /** Waits until no more writes arrive: requests that arrived together begin over several turns of the event loop, and share a commit. */
  async function gather(): Promise<void> {
    let before = 0;
    for (
      let round = 0;
      round < POSTPONED_MAXIMUM && pending.length > before && pending.length < BATCH_MAXIMUM;
      round += 1
    ) {
      before = pending.length;
      // Twice, because requests may begin later in the turn in which this resumes.
      await nextTurn();
      await nextTurn();
    }
  }

  /** Not a generator, which an error in a loop over it would close: what is left may be taken after that. */
  function batch(): Iterable<PendingWrite> {
    let left = BATCH_MAXIMUM;
    const next = (): IteratorResult<PendingWrite, undefined> => {
      const write = left > 0 ? pending.shift() : undefined;
      left -= 1;
      return write === undefined ? { done: true, value: undefined } : { done: false, value: write };
    };
    return { [Symbol.iterator]: () => ({ next }) };
  }

  async function drain(): Promise<void> {
    await gather();
    while (pending.length > 0) {
      // Not awaited: a write that runs alone may wait for a lock, and must not delay the other writes.
      for (const write of await runner.together(batch())) track(alone, runner.alone(write));
    }
    // No await since the last check of `pending`: a write that arrives from now on starts a new drain.
    draining -= 1;
  }

  function start(): void {
    // A later commit holds more writes, so another one begins only when many wait.
    const isWorthIt = draining === 0 || pending.length >= ANOTHER_BATCH;
    if (!isWorthIt || draining >= runner.batches) return;
    draining += 1;
    track(batches, drain());
  }

  return {
    write<T>(job: (transaction: Transaction) => Promise<T>): Promise<T> {
      if (pending.length >= PENDING_WRITES_MAXIMUM) {
        return Promise.reject(new StoreBusyError("Too many writes wait"));
      }
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      let outcome: (() => void) | undefined;
      pending.push({
        async run(transaction) {
          const value = await job(transaction);
          outcome = () => resolve(value);
        },
        commit: () => outcome?.(),
        fail: reject,
      });
      start();
      return promise;
    },
    async idle() {
      while (batches.size + alone.size > 0) await Promise.all([...batches, ...alone]);
    },
  };
}
