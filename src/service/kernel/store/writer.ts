import type { Transaction } from "kysely";

import { nextTurn } from "../traffic/let-others-in.ts";
import type { Tables } from "./tables.ts";
import { StoreBusyError } from "./unavailable.ts";

/** A write that waits for its turn, or has it. */
export interface PendingWrite {
  /** Runs the job; what it resolved with is handed out by `commit`. May be called again after a rollback. */
  readonly run: (transaction: Transaction<Tables>) => Promise<void>;
  /** To be called once what `run` did is durable. */
  readonly commit: () => void;
  readonly fail: (error: unknown) => void;
}

/** What a database does with writes. Nothing here ever rejects. */
export interface WriteRunner {
  /** Runs writes in one commit and settles them; resolves with those that are to go alone instead. */
  together(batch: readonly PendingWrite[]): Promise<readonly PendingWrite[]>;
  /** Runs and settles one write. */
  alone(write: PendingWrite): Promise<void>;
  /** Commits that may be under way at the same time. */
  readonly batches: number;
}

/** Writes that may wait; each is at most one request body. */
export const PENDING_WRITES_MAXIMUM = 1024;
/** Writes of one commit, so that no request waits for all of them. */
export const BATCH_MAXIMUM = 128;

/** Writes that wait beside a commit for which a database that can begins another one. */
const ANOTHER_BATCH = 32;

/** How often a commit is put off because more writes have come. */
const LOOKS_MAXIMUM = 8;

/** Takes as many writes as wait into one commit, because the commit is what costs. */
export interface Writer {
  /** @throws StoreBusyError when too many wait. */
  write<T>(job: (transaction: Transaction<Tables>) => Promise<T>): Promise<T>;
  /** Resolves when no write waits. */
  idle(): Promise<void>;
}

/** Hands out what is durable. What follows from it is work as well, so others are let in between. */
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
  /** Those of `batches` that will still look for pending writes. */
  let draining = 0;

  function track(running: Set<Promise<void>>, work: Promise<void>): void {
    const tracked = work.finally(() => running.delete(tracked));
    running.add(tracked);
  }

  /** Requests that arrived together share the first commit; they are begun over several turns of the event loop. */
  async function gather(): Promise<void> {
    let before = 0;
    for (let look = 0; look < LOOKS_MAXIMUM && pending.length > before && pending.length < BATCH_MAXIMUM; look += 1) {
      before = pending.length;
      // Twice, because requests may be begun in each turn after this was resumed.
      await nextTurn();
      await nextTurn();
    }
  }

  async function drain(): Promise<void> {
    await gather();
    while (pending.length > 0) {
      // Those that go alone wait for others: nobody else waits with them.
      for (const write of await runner.together(pending.splice(0, BATCH_MAXIMUM))) track(alone, runner.alone(write));
    }
    // In the same step as the last look: a write that comes a moment later, as the answer to one just committed, starts anew.
    draining -= 1;
  }

  function start(): void {
    // The next commit is the larger the longer it is put off, and those who wait for it are the more.
    const isWorthIt = draining === 0 || pending.length >= ANOTHER_BATCH;
    if (!isWorthIt || draining >= runner.batches) return;
    draining += 1;
    track(batches, drain());
  }

  return {
    write<T>(job: (transaction: Transaction<Tables>) => Promise<T>): Promise<T> {
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
