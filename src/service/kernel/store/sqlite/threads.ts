import { CompiledQuery } from "kysely";
import type { DatabaseConnection, Driver, QueryResult } from "kysely";

import { ConnectionTurns } from "../connection-turns.ts";
import { queryResult, SqliteDialect, TransactionalSqliteAdapter } from "./dialect.ts";
import { SqliteThread } from "./thread.ts";

/** How long a query may take, and may wait for those before it. No query takes a tenth of it, unless the disk hangs. */
const STATEMENT_TIMEOUT_MS = 15_000;

/** Kysely over connections that only read, each in a thread of its own: a query that takes long never holds the event loop. */
export class SqliteThreadsDialect extends SqliteDialect {
  readonly #path: string;
  readonly #threads: number;
  readonly #timeoutMs: number;

  /** @param threads started as they are needed. */
  constructor(path: string, threads: number, timeoutMs = STATEMENT_TIMEOUT_MS) {
    super();
    this.#path = path;
    this.#threads = threads;
    this.#timeoutMs = timeoutMs;
  }

  createDriver(): Driver {
    return new SqliteThreadsDriver(this.#path, this.#threads, this.#timeoutMs);
  }

  createAdapter(): SqliteThreadsAdapter {
    return SQLITE_THREADS_ADAPTER;
  }
}

class SqliteThreadsAdapter extends TransactionalSqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** One for all databases, which share their prepared queries by it (store/prepared.ts). */
const SQLITE_THREADS_ADAPTER = new SqliteThreadsAdapter();

class SqliteThreadsDriver implements Driver {
  readonly #path: string;
  readonly #timeoutMs: number;
  readonly #turns: ConnectionTurns;
  readonly #free: ReaderConnection[] = [];
  readonly #ends = new Map<ReaderConnection, () => void>();

  constructor(path: string, maximum: number, timeoutMs: number) {
    this.#path = path;
    this.#timeoutMs = timeoutMs;
    this.#turns = new ConnectionTurns(maximum, timeoutMs);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<ReaderConnection> {
    const end = await this.#turns.begin();
    const connection = this.#free.pop() ?? new ReaderConnection(this.#path, this.#timeoutMs);
    this.#ends.set(connection, end);
    return connection;
  }

  async releaseConnection(connection: ReaderConnection): Promise<void> {
    const end = this.#ends.get(connection) ?? (() => {});
    this.#ends.delete(connection);
    if (connection.hasEnded) {
      // Until nothing is left of it, it has its place: where the disk hangs, threads would become more and more.
      void connection.gone.then(end);
      return;
    }
    this.#free.push(connection);
    end();
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(BEGIN);
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(COMMIT);
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(ROLLBACK);
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#free, ...this.#ends.keys()].map((connection) => connection.end()));
  }
}

const BEGIN = CompiledQuery.raw("begin");
const COMMIT = CompiledQuery.raw("commit");
const ROLLBACK = CompiledQuery.raw("rollback");

/** A connection in a thread of its own. */
class ReaderConnection extends SqliteThread implements DatabaseConnection {
  readonly #timeoutMs: number;

  constructor(path: string, timeoutMs: number) {
    super({ path, role: "reader" });
    this.#timeoutMs = timeoutMs;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const alarm = setTimeout(() => this.giveUp(`A query took longer than ${this.#timeoutMs} ms`), this.#timeoutMs);
    try {
      return queryResult<R>(await this.ask({ sql, parameters }));
    } finally {
      clearTimeout(alarm);
    }
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }
}
