import type { DatabaseSync } from "node:sqlite";

import { SqliteSession, type StatementRequest } from "./session.ts";

/** A transaction that ran and was rolled back, for the connection that commits to replay. */
export interface RecordedTransaction {
  /** In order, without those that only read. */
  readonly statements: readonly StatementRequest[];
  /** Rows that all of them changed. */
  readonly changes: number;
}

/** Makes recorded transactions durable. */
export interface Committer extends AsyncDisposable {
  /** @throws the error of SQLite, and nothing was committed; StoreUnavailableError when it is unknown whether it was. */
  commit(recorded: RecordedTransaction): Promise<void>;
}

export const EMPTY_TRANSACTION: RecordedTransaction = { statements: [], changes: 0 };

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

  function run({ statements, changes }: RecordedTransaction): void {
    const found = session.number("pragma data_version");
    if (found !== version) {
      version = found;
      throw snapshotTooOld();
    }
    const before = session.totalChanges();
    for (const { sql, parameters } of statements) session.run(sql, parameters);
    if (session.totalChanges() - before !== changes)
      throw new Error("A replayed transaction changed another number of rows than when it was recorded");
    database.exec("commit");
  }

  return (recorded) => {
    if (recorded.statements.length === 0) return;
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
export function snapshotTooOld(): Error {
  return Object.assign(new Error("database is locked"), { code: "ERR_SQLITE_ERROR", errcode: SQLITE_BUSY_SNAPSHOT });
}
