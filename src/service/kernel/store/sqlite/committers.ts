import type { DatabaseSync } from "node:sqlite";

import { type Committer, createReplay, EMPTY_TRANSACTION, snapshotTooOld } from "./replay.ts";
import { SqliteThread } from "./thread.ts";

/** Commits in a separate thread, so that only that thread waits for the disk. */
export async function commitInThread(path: string): Promise<Committer> {
  let thread = await startThread(path);
  return {
    async commit(recorded) {
      if (thread.hasEnded) {
        thread = await startThread(path);
        // The new thread does not know what was committed before it started.
        throw snapshotTooOld();
      }
      await thread.ask(recorded);
    },
    [Symbol.asyncDispose]: () => thread.end(),
  };
}

/** Resolves when the thread has read the version of the database. */
async function startThread(path: string): Promise<SqliteThread> {
  const thread = new SqliteThread({ path, role: "committer" });
  await thread.ask(EMPTY_TRANSACTION);
  return thread;
}

/** Commits in the caller's thread: enough for a command. */
export function commitHere(database: DatabaseSync): Committer {
  const commit = createReplay(database);
  return {
    async commit(recorded) {
      commit(recorded);
    },
    async [Symbol.asyncDispose]() {
      // A no-op where it is closed.
      database[Symbol.dispose]();
    },
  };
}
