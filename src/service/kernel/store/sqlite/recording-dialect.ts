import type { DatabaseSync } from "node:sqlite";

import type { CompiledQuery, DatabaseConnection, Dialect, QueryResult } from "kysely";

import type { Committer, RecordedTransaction } from "./replay.ts";
import { NodeSqliteConnection, NodeSqliteDriver, sqliteDialect } from "./dialect.ts";
import type { WaitingClock } from "./lock.ts";
import { SqliteSession } from "./session.ts";
import type { StatementRequest } from "./session.ts";

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
  return sqliteDialect(() => new RecordingDriver(database, committer, clock));
}

class RecordingDriver extends NodeSqliteDriver {
  readonly #database: DatabaseSync;
  readonly #committer: Committer;
  readonly #connection: RecordingConnection;

  constructor(database: DatabaseSync, committer: Committer, clock: WaitingClock | null) {
    super(database, clock);
    this.#database = database;
    this.#committer = committer;
    this.#connection = new RecordingConnection(new SqliteSession(database));
  }

  override async init(): Promise<void> {
    await super.init();
    this.#database.exec(`pragma cache_spill = ${CACHED_PAGES}`);
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  override async beginTransaction(...parameters: Parameters<NodeSqliteDriver["beginTransaction"]>): Promise<void> {
    await super.beginTransaction(...parameters);
    this.#connection.begin();
  }

  override async commitTransaction(): Promise<void> {
    const recorded = this.#connection.end();
    this.#database.exec("rollback");
    await this.#committer.commit(recorded);
  }
}

class RecordingConnection extends NodeSqliteConnection {
  readonly #session: SqliteSession;
  #statements: StatementRequest[] = [];
  #changesBefore = 0;

  constructor(session: SqliteSession) {
    super(session);
    this.#session = session;
  }

  begin(): void {
    this.#statements = [];
    this.#changesBefore = this.#session.totalChanges();
  }

  end(): RecordedTransaction {
    const statements = this.#statements;
    this.#statements = [];
    return { statements, changes: this.#session.totalChanges() - this.#changesBefore };
  }

  override async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const result = await super.executeQuery<R>(query);
    const { sql, parameters } = query;
    if (!READ_ONLY.test(sql)) this.#statements.push({ sql, parameters });
    return result;
  }
}
