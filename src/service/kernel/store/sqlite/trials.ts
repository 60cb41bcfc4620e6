import type { DatabaseSync } from "node:sqlite";

import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from "kysely";

import type { Committer, Trial } from "./commit.ts";
import { NodeSqliteConnection, NodeSqliteDialect, NodeSqliteDriver } from "./dialect.ts";
import type { WaitingClock } from "./lock.ts";
import { SqliteSession } from "./session.ts";
import type { StatementRequest } from "./session.ts";

/** Changed pages of a trial that stay in memory. Beyond them, which takes bodies of many megabytes, SQLite writes some to its log early. */
const TRIAL_PAGES = 4000;
/** What leaves no trace in the database. */
const READING = /^(?:select|pragma)\b/i;

/**
 * Kysely over a connection that tries transactions: each runs here, where its statements cost microseconds, is rolled back, and is handed
 * to another connection, which runs it again and commits it. So the disk is waited for wherever that other connection is.
 */
export class TrialDialect extends NodeSqliteDialect {
  readonly #database: DatabaseSync;
  readonly #committer: Committer;
  readonly #clock: WaitingClock | null;

  constructor(database: DatabaseSync, committer: Committer, clock: WaitingClock | null = null) {
    super(database, clock);
    this.#database = database;
    this.#committer = committer;
    this.#clock = clock;
  }

  override createDriver(): Driver {
    return new TrialDriver(this.#database, this.#committer, this.#clock);
  }
}

class TrialDriver extends NodeSqliteDriver {
  readonly #database: DatabaseSync;
  readonly #committer: Committer;
  readonly #connection: TrialConnection;

  constructor(database: DatabaseSync, committer: Committer, clock: WaitingClock | null) {
    super(database, clock);
    this.#database = database;
    this.#committer = committer;
    this.#connection = new TrialConnection(new SqliteSession(database));
  }

  override async init(): Promise<void> {
    await super.init();
    this.#database.exec(`pragma cache_spill = ${TRIAL_PAGES}`);
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  override async beginTransaction(...parameters: Parameters<NodeSqliteDriver["beginTransaction"]>): Promise<void> {
    await super.beginTransaction(...parameters);
    this.#connection.begin();
  }

  override async commitTransaction(): Promise<void> {
    const trial = this.#connection.end();
    this.#database.exec("rollback");
    await this.#committer.commit(trial);
  }
}

class TrialConnection extends NodeSqliteConnection {
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

  end(): Trial {
    const statements = this.#statements;
    this.#statements = [];
    return { statements, changes: this.#session.totalChanges() - this.#changesBefore };
  }

  override async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const result = await super.executeQuery<R>(query);
    const { sql, parameters } = query;
    if (!READING.test(sql)) this.#statements.push({ sql, parameters });
    return result;
  }
}
