import type { DatabaseSync } from "node:sqlite";

import type { Dialect, Driver } from "kysely";

import type { Committer } from "./replay.ts";
import { nodeSqliteDriver, sessionConnection, sqliteDialect } from "./dialect.ts";
import type { WaitingClock } from "./lock.ts";
import { SqliteSession, type StatementRequest } from "./session.ts";

/** Changed pages of a transaction that stay in memory. Only bodies of many megabytes change more; then SQLite writes some to its log early. */
const CACHED_PAGES = 4000;
/** Statements that change nothing, which the recording leaves out. */
const READ_ONLY = /^(?:select|pragma)\b/i;

/**
 * Kysely over a connection that records transactions: each runs here in memory, where a statement costs microseconds, and is rolled back.
 * Then the committer replays its statements on another connection and commits them, so that only the committer waits for the disk.
 */
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
  let changesBefore = 0;
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
      changesBefore = session.totalChanges();
    },
    async commitTransaction() {
      const recorded = { statements, changes: session.totalChanges() - changesBefore };
      statements = [];
      database.exec("rollback");
      await committer.commit(recorded);
    },
  };
}
