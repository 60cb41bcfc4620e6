import type { DatabaseSync } from "node:sqlite";

import { createCommits, NOTHING_TRIED, snapshotTooOld } from "./commit.ts";
import type { Committer } from "./commit.ts";
import { SqliteThread } from "./thread.ts";

/** Commits in a thread of its own, which alone waits for the disk. */
export async function commitInThread(path: string): Promise<Committer> {
  let thread = await startThread(path);
  return {
    async commit(trial) {
      if (thread.hasEnded) {
        thread = await startThread(path);
        // It does not know what was committed before it started.
        throw snapshotTooOld();
      }
      await thread.ask(trial);
    },
    [Symbol.asyncDispose]: () => thread.end(),
  };
}

/** Resolves when the thread knows the state of the database. */
async function startThread(path: string): Promise<SqliteThread> {
  const thread = new SqliteThread({ path, role: "committer" });
  await thread.ask(NOTHING_TRIED);
  return thread;
}

/** Commits in the caller's thread, which suits a command that does one thing. */
export function commitHere(database: DatabaseSync): Committer {
  const commit = createCommits(database);
  return {
    async commit(trial) {
      commit(trial);
    },
    async [Symbol.asyncDispose]() {
      // A no-op where it is closed.
      database[Symbol.dispose]();
    },
  };
}
