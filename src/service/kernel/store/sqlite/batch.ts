import { CompiledQuery } from "kysely";
import type { Kysely, Transaction } from "kysely";

import type { Clock } from "../../../../platform/clock.ts";
import { createTimeSlices } from "../../traffic/let-others-in.ts";
import type { Tables } from "../tables.ts";
import { StoreUnavailableError, unavailable } from "../unavailable.ts";
import { commitAll } from "../writer.ts";
import type { PendingWrite, WriteRunner } from "../writer.ts";

/** One commit at a time. A write that fails takes no other of its commit along. */
export function sqliteRunner(database: Kysely<Tables>, clock: Pick<Clock, "monotonicMs">): WriteRunner {
  const yieldWhenDue = createTimeSlices(clock);

  /** @returns whether all of them succeeded, or failed for good; else none of them happened. */
  async function runBare(batch: readonly PendingWrite[]): Promise<boolean> {
    let hasBegun = false;
    try {
      await database.transaction().execute(async (transaction) => {
        hasBegun = true;
        for (const write of batch) {
          await write.run(transaction);
          await yieldWhenDue();
        }
      });
    } catch (error) {
      // Where nobody knows whether all of it happened, it must not happen again.
      if (hasBegun && !(error instanceof StoreUnavailableError)) return false;
      // Another process held the lock for as long as a write may wait: there is no time left for a second attempt.
      for (const write of batch) write.fail(unavailable(error));
      return true;
    }
    await commitAll(batch, yieldWhenDue);
    return true;
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
      // Some may have failed on their own before; a promise settles once.
      for (const write of batch) write.fail(unavailable(error));
      return;
    }
    await commitAll(done, yieldWhenDue);
  }

  return {
    async together(batch) {
      // Savepoints are a third of the queries of a setup, and needed where a write fails; those are rare.
      if (!(await runBare(batch))) await runInSavepoints(batch);
      return [];
    },
    alone: (write) => runInSavepoints([write]),
    batches: 1,
  };
}

async function runInSavepoint(transaction: Transaction<Tables>, write: PendingWrite): Promise<boolean> {
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

/** @throws `error` where SQLite gave up the whole transaction, as it may on a full disk: then every write of it failed so. */
async function undo(transaction: Transaction<Tables>, error: unknown): Promise<void> {
  try {
    await transaction.executeQuery(CompiledQuery.raw("rollback to job"));
    await transaction.executeQuery(CompiledQuery.raw("release job"));
  } catch {
    throw error;
  }
}
