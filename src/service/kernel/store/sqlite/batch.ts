import { CompiledQuery, type Kysely } from "kysely";

import type { Clock } from "../../../../platform/clock.ts";
import { createTimeSlices } from "../../traffic/event-loop.ts";
import type { Tables, Transaction } from "../tables.ts";
import { StoreUnavailableError, unavailable } from "../unavailable.ts";
import { commitAll, type PendingWrite, type WriteRunner } from "../writer.ts";

/** Runs one commit at a time. A write that fails does not fail the others of its commit. */
export function sqliteRunner(database: Kysely<Tables>, clock: Pick<Clock, "monotonicMs">): WriteRunner {
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
    await commitAll(begun, yieldWhenDue);
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
    await commitAll(done, yieldWhenDue);
  }

  return {
    async together(batch) {
      // Savepoints would be a third of the queries of a setup, and only failed writes, which are rare, need them.
      const again = await runBare(batch);
      if (again.length > 0) await runInSavepoints(again);
      return [];
    },
    alone: (write) => runInSavepoints([write]),
    batches: 1,
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
