import type { DatabaseSync } from "node:sqlite";

import { SqliteSession } from "./session.ts";
import type { StatementRequest } from "./session.ts";

/** A transaction that was run and rolled back, to be run again by the connection that commits. */
export interface Trial {
  /** In order; those that only read are left out. */
  readonly statements: readonly StatementRequest[];
  /** Rows that they changed, all together. */
  readonly changes: number;
}

/** Makes durable what was tried. */
export interface Committer extends AsyncDisposable {
  /** @throws the error of SQLite, and nothing has happened; StoreUnavailableError where nobody knows what has. */
  commit(trial: Trial): Promise<void>;
}

export const NOTHING_TRIED: Trial = { statements: [], changes: 0 };

/** sqlite.org/rescode.html */
const SQLITE_BUSY_SNAPSHOT = 517;

/**
 * Runs what was tried on another connection, and commits it.
 *
 * The same statements on the same database do the same, so nothing may have been committed since the trial began, unless by this
 * connection. Whoever else commits (a command beside the service) makes the trial fail as SQLite fails a transaction whose snapshot is old.
 *
 * @throws the error of SQLite; then nothing has happened.
 */
export function createCommits(database: DatabaseSync): (trial: Trial) => void {
  const session = new SqliteSession(database);
  /** Changes with every commit of other connections (sqlite.org/pragma.html#pragma_data_version). */
  let version = session.number("pragma data_version");

  function run({ statements, changes }: Trial): void {
    const found = session.number("pragma data_version");
    if (found !== version) {
      version = found;
      throw snapshotTooOld();
    }
    const before = session.totalChanges();
    for (const { sql, parameters } of statements) session.run(sql, parameters);
    if (session.totalChanges() - before !== changes)
      throw new Error("A transaction does not do what it did when tried");
    database.exec("commit");
  }

  return (trial) => {
    if (trial.statements.length === 0) return;
    database.exec("begin immediate");
    try {
      run(trial);
    } finally {
      // A full disk or an I/O error makes SQLite roll back on its own.
      if (database.isTransaction) database.exec("rollback");
    }
  };
}

/** What a trial saw is not what there is. */
export function snapshotTooOld(): Error {
  return Object.assign(new Error("database is locked"), { code: "ERR_SQLITE_ERROR", errcode: SQLITE_BUSY_SNAPSHOT });
}
