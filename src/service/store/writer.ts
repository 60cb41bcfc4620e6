import { CompiledQuery } from "kysely";
import type { Kysely, Transaction } from "kysely";

import type { Tables } from "./tables.ts";
import { StoreUnavailableError, unavailable } from "./unavailable.ts";

interface Pending {
  /** Runs the job; what it resolved with is handed out by `settle`, once committed. */
  readonly run: (transaction: Transaction<Tables>) => Promise<void>;
  readonly commit: () => void;
  readonly fail: (error: unknown) => void;
}

/** Writes that may wait; each is at most one request body. */
export const PENDING_WRITES_MAXIMUM = 1024;
/** Writes of one commit, so that no request waits for all of them. */
export const BATCH_MAXIMUM = 128;

/** The single writer: takes jobs one after another, and as many as wait into one commit, because the commit is what costs. */
export interface Writer {
  write<T>(job: (transaction: Transaction<Tables>) => Promise<T>): Promise<T>;
  /** Resolves when no write waits. */
  idle(): Promise<void>;
}

export function createWriter(database: Kysely<Tables>): Writer {
  const pending: Pending[] = [];
  let running: Promise<void> | null = null;

  async function drain(): Promise<void> {
    // One turn of the event loop: requests that arrived together share the first commit.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    while (pending.length > 0) await commitBatch(database, pending.splice(0, BATCH_MAXIMUM));
    running = null;
  }

  return {
    write<T>(job: (transaction: Transaction<Tables>) => Promise<T>): Promise<T> {
      if (pending.length >= PENDING_WRITES_MAXIMUM) {
        return Promise.reject(new StoreUnavailableError("Too many writes wait"));
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
      running ??= drain();
      return promise;
    },
    idle: () => running ?? Promise.resolve(),
  };
}

async function commitBatch(database: Kysely<Tables>, batch: readonly Pending[]): Promise<void> {
  const done: Pending[] = [];
  try {
    await database.transaction().execute(async (transaction) => {
      for (const write of batch) {
        if (await runInSavepoint(transaction, write)) done.push(write);
      }
    });
  } catch (error) {
    // Some may have failed on their own before; a promise settles once.
    for (const write of batch) write.fail(unavailable(error));
    return;
  }
  for (const write of done) write.commit();
}

/** One failing job must not take the others of its commit along. */
async function runInSavepoint(transaction: Transaction<Tables>, write: Pending): Promise<boolean> {
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
