/**
 * Transactions on SQLite that never wait for the disk in the thread that serves requests: recorded there, committed in another.
 *
 * Each runs in the calling thread, where a statement costs microseconds, and is rolled back. Then the committer replays its statements on a
 * connection of its own and commits them, in one message for many writes. Plainer ways were measured: with a message for each statement
 * to a writer's thread there is a third of the setups; with commits in the calling thread and the sync in another, SQLite itself syncs
 * the header of its log in the calling thread at each restart of the log, which cannot be left out (the log of before would come back after a
 * power cut), and others see what is not durable yet.
 */
import type { DatabaseSync } from "node:sqlite";

import type { Dialect, Driver } from "kysely";

import type { WaitingClock } from "./database.ts";
import {
  nodeSqliteDriver,
  type RecordedTransaction,
  sessionConnection,
  sqliteDialect,
  SqliteSession,
  type StatementRequest,
} from "./dialect.ts";
import { SqliteThread } from "./threads.ts";

/** Makes recorded transactions durable. */
export interface Committer extends AsyncDisposable {
  /** @throws the error of SQLite, and nothing was committed; StoreUnavailableError when it is unknown whether it was. */
  commit(recorded: RecordedTransaction): Promise<void>;
}

/** Changed pages of a transaction that stay in memory. Only bodies of many megabytes change more; then SQLite writes some to its log early. */
const CACHED_PAGES = 4000;
/** Statements that change nothing, which the recording leaves out. */
const READ_ONLY = /^(?:select|pragma)\b/i;

/** Kysely over a connection that records transactions, which the committer then commits. */
export function recordingDialect(
  database: DatabaseSync,
  committer: Committer,
  clock: WaitingClock | null = null,
): Dialect {
  return sqliteDialect(() => recordingDriver(database, committer, clock));
}

function recordingDriver(database: DatabaseSync, committer: Committer, clock: WaitingClock | null): Driver {
  const session = new SqliteSession(database);
  let statements: StatementRequest[] = [];
  const connection = sessionConnection(session, (statement) => {
    if (!READ_ONLY.test(statement.sql)) statements.push(statement);
  });
  const driver = nodeSqliteDriver(database, clock, connection);
  return {
    ...driver,
    async init() {
      await driver.init();
      database.exec(`pragma cache_spill = ${CACHED_PAGES}`);
    },
    async beginTransaction(...parameters) {
      await driver.beginTransaction(...parameters);
      statements = [];
    },
    async commitTransaction() {
      const recorded = statements;
      statements = [];
      database.exec("rollback");
      await committer.commit(recorded);
    },
  };
}

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
  await thread.ask([]);
  return thread;
}

/** sqlite.org/rescode.html */
const SQLITE_BUSY_SNAPSHOT = 517;

/**
 * Replays and commits transactions that another connection recorded.
 *
 * A replay has the recorded effect only on the state in which it was recorded. So when another connection has committed since (a command
 * beside the service), it fails as SQLite fails a transaction whose snapshot is old.
 *
 * @throws the error of SQLite; then nothing was committed.
 */
export function createReplay(database: DatabaseSync): (recorded: RecordedTransaction) => void {
  const session = new SqliteSession(database);
  /** Changes with every commit of other connections (sqlite.org/pragma.html#pragma_data_version). */
  let version = session.number("pragma data_version");

  function run(recorded: RecordedTransaction): void {
    const found = session.number("pragma data_version");
    if (found !== version) {
      version = found;
      throw snapshotTooOld();
    }
    for (const { sql, parameters } of recorded) session.run(sql, parameters);
    database.exec("commit");
  }

  return (recorded) => {
    if (recorded.length === 0) return;
    database.exec("begin immediate");
    try {
      run(recorded);
    } finally {
      // A full disk or an I/O error makes SQLite roll back on its own.
      if (database.isTransaction) database.exec("rollback");
    }
  };
}

/** The error for a transaction recorded on a state that is no longer the current one. */
function snapshotTooOld(): Error {
  return Object.assign(new Error("database is locked"), { code: "ERR_SQLITE_ERROR", errcode: SQLITE_BUSY_SNAPSHOT });
}
