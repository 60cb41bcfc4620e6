import type { Kysely } from "kysely";

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
/** How often a commit is tried. The first fails when another process has committed since its writes began. */
const COMMITS_MAXIMUM = 2;

/** Runs waiting writes in one commit, because the commit is what costs. */
export interface Writer {
  /** @throws StoreBusyError when too many wait. */
  write<T>(job: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Resolves when no write waits. */
  idle(): Promise<void>;
}

/** A write that waits or runs. */
interface PendingWrite {
  /** Runs the job and keeps its result for `commit`. May be called again after a rollback. */
  readonly run: (transaction: Transaction) => Promise<void>;
  /** Resolves the write with its result; call this when the result is durable. */
  readonly commit: () => void;
  readonly fail: (error: unknown) => void;
}

/** A write that failed; those beside it have not. */
class FailedWriteError extends Error {
  readonly write: PendingWrite;

  constructor(write: PendingWrite, cause: unknown) {
    super("a write failed", { cause });
    this.write = write;
  }
}

/** Runs one commit at a time. A write that fails does not fail the others of its commit. */
export function createWriter(database: Kysely<Tables>, clock: Pick<Clock, "monotonicMs">): Writer {
  const pending: PendingWrite[] = [];
  const yieldWhenDue = createTimeSlices(clock);
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

  async function drain(): Promise<void> {
    await gather();
    while (pending.length > 0) await commitTogether();
    // No await since the last check of `pending`: a write that arrives from now on starts a new drain.
    draining = null;
  }

  /** Runs writes in one commit and settles them; never rejects. */
  async function commitTogether(): Promise<void> {
    let batch: PendingWrite[] = [];
    for (let commits = 1; ;) {
      let hasBegun = false;
      try {
        await database.transaction().execute(async (transaction) => {
          hasBegun = true;
          await runAll(transaction, batch);
        });
        break;
      } catch (error) {
        if (error instanceof FailedWriteError) {
          error.write.fail(unavailable(error.cause));
          batch = batch.filter((write) => write !== error.write);
          continue;
        }
        // Another process held the lock for the whole time that a write may wait, so there is no second attempt.
        if (!hasBegun) batch.push(...pending.splice(0, BATCH_MAXIMUM - batch.length));
        // When it is unknown whether the commit happened, the writes must not run again.
        if (!hasBegun || error instanceof StoreUnavailableError || commits === COMMITS_MAXIMUM) {
          for (const write of batch) write.fail(unavailable(error));
          return;
        }
        commits += 1;
      }
    }
    // Each resolution continues a request, so the event loop is yielded in between.
    for (const write of batch) {
      write.commit();
      await yieldWhenDue();
    }
  }

  /** Runs these writes, and those that wait: a write that arrives while others run is still part of their commit. */
  async function runAll(transaction: Transaction, batch: PendingWrite[]): Promise<void> {
    for (let index = 0; ; index += 1) {
      if (index === batch.length && index < BATCH_MAXIMUM) batch.push(...pending.splice(0, 1));
      const write = batch[index];
      if (write === undefined) return;
      try {
        await write.run(transaction);
      } catch (error) {
        throw new FailedWriteError(write, error);
      }
      await yieldWhenDue();
    }
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
