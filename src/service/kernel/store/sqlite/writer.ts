import { CompiledQuery, type Kysely } from "kysely";

import type { Clock } from "../../../../platform/clock.ts";
import { createTimeSlices, nextTurn } from "../../traffic/event-loop.ts";
import type { Tables, Transaction } from "../tables.ts";
import { StoreBusyError, StoreUnavailableError, unavailable } from "../unavailable.ts";

/** Writes that may wait; each holds at most one request body in memory. */
const PENDING_WRITES_MAXIMUM = 1024;
/** Writes in one commit, so that the first need not wait for all others. */
export const BATCH_MAXIMUM = 128;
/** How often a commit is postponed because more writes have arrived. */
const POSTPONED_MAXIMUM = 8;

/** A write that waits or runs. */
export interface PendingWrite {
  /** Runs the job and keeps its result for `commit`. May be called again after a rollback. */
  readonly run: (transaction: Transaction) => Promise<void>;
  /** Resolves the write with its result; call this when the result is durable. */
  readonly commit: () => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Runs writes in one commit and settles them; never rejects. A write is taken from the batch when it is its turn, so that one that arrives
 * while others run is still part of their commit; what is not taken waits for the next one.
 */
export type CommitTogether = (batch: Iterable<PendingWrite>) => Promise<void>;

/** Runs waiting writes in one commit, because the commit is what costs. */
export interface Writer {
  /** @throws StoreBusyError when too many wait. */
  write<T>(job: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Resolves when no write waits. */
  idle(): Promise<void>;
}

export function createWriter(commitTogether: CommitTogether): Writer {
  const pending: PendingWrite[] = [];
  let draining: Promise<void> | null = null;

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
    while (pending.length > 0) await commitTogether(batch());
    // No await since the last check of `pending`: a write that arrives from now on starts a new drain.
    draining = null;
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
      draining ??= drain();
      return promise;
    },
    async idle() {
      for (let running = draining; running !== null; running = draining) await running;
    },
  };
}

/** Runs one commit at a time. A write that fails does not fail the others of its commit. */
export function sqliteCommits(database: Kysely<Tables>, clock: Pick<Clock, "monotonicMs">): CommitTogether {
  const yieldWhenDue = createTimeSlices(clock);

  /** @returns the writes to run again, because none of them was committed. */
  async function runBare(batch: Iterable<PendingWrite>): Promise<readonly PendingWrite[]> {
    const begun: PendingWrite[] = [];
    let hasBegun = false;
    try {
      await database.transaction().execute(async (transaction) => {
        hasBegun = true;
        for (const write of batch) {
          begun.push(write);
          await write.run(transaction);
          await yieldWhenDue();
        }
      });
    } catch (error) {
      // When it is unknown whether the commit happened, the writes must not run again.
      if (hasBegun && !(error instanceof StoreUnavailableError)) return [...begun, ...batch];
      // Another process held the lock for the whole time that a write may wait, so there is no second attempt.
      for (const write of [...begun, ...batch]) write.fail(unavailable(error));
      return [];
    }
    await commitAll(begun);
    return [];
  }

  async function runInSavepoints(batch: readonly PendingWrite[]): Promise<void> {
    const done: PendingWrite[] = [];
    try {
      await database.transaction().execute(async (transaction) => {
        for (const write of batch) {
          if (await runInSavepoint(transaction, write)) done.push(write);
          await yieldWhenDue();
        }
      });
    } catch (error) {
      // Some may have failed already; failing them again has no effect.
      for (const write of batch) write.fail(unavailable(error));
      return;
    }
    await commitAll(done);
  }

  /** Resolves durable writes. Each resolution continues a request, so the event loop is yielded in between. */
  async function commitAll(writes: readonly PendingWrite[]): Promise<void> {
    for (const write of writes) {
      write.commit();
      await yieldWhenDue();
    }
  }

  return async (batch) => {
    // Savepoints would be a third of the queries of a setup, and only failed writes, which are rare, need them.
    const again = await runBare(batch);
    if (again.length > 0) await runInSavepoints(again);
  };
}

async function runInSavepoint(transaction: Transaction, write: PendingWrite): Promise<boolean> {
  await transaction.executeQuery(CompiledQuery.raw("savepoint job"));
  try {
    await write.run(transaction);
    await transaction.executeQuery(CompiledQuery.raw("release job"));
    return true;
  } catch (error) {
    await undo(transaction, error);
    write.fail(unavailable(error));
    return false;
  }
}

/** @throws `error` when SQLite rolled back the whole transaction, as on a full disk: then every write in it has failed. */
async function undo(transaction: Transaction, error: unknown): Promise<void> {
  try {
    await transaction.executeQuery(CompiledQuery.raw("rollback to job"));
    await transaction.executeQuery(CompiledQuery.raw("release job"));
  } catch {
    throw error;
  }
}
