import { CompiledQuery } from "kysely";
import type { DatabaseConnection, Driver, QueryResult } from "kysely";

import { queryResult, SqliteDialect, TransactionalSqliteAdapter } from "./sqlite-dialect.ts";
import { SqliteThread } from "./sqlite-thread.ts";
import { StoreUnavailableError, WAITING_MAXIMUM } from "./unavailable.ts";

/** Kysely over connections that only read, each in a thread of its own: a query that takes long never holds the event loop. */
export class SqliteThreadsDialect extends SqliteDialect {
  readonly #path: string;
  readonly #threads: number;

  /** @param threads started as they are needed. */
  constructor(path: string, threads: number) {
    super();
    this.#path = path;
    this.#threads = threads;
  }

  createDriver(): Driver {
    return new SqliteThreadsDriver(this.#path, this.#threads);
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

/** One for all databases, which share their prepared queries by it (prepared.ts). */
const SQLITE_THREADS_ADAPTER = new SqliteThreadsAdapter();

class SqliteThreadsDriver implements Driver {
  readonly #path: string;
  readonly #maximum: number;
  readonly #threads = new Set<ReaderConnection>();
  readonly #free: ReaderConnection[] = [];
  readonly #waiting: ((thread: ReaderConnection) => void)[] = [];

  constructor(path: string, maximum: number) {
    this.#path = path;
    this.#maximum = maximum;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<ReaderConnection> {
    const free = this.#free.pop();
    if (free !== undefined) return this.#alive(free);
    if (this.#threads.size < this.#maximum) return this.#start();
    if (this.#waiting.length >= WAITING_MAXIMUM) throw new StoreUnavailableError("Too many queries wait");
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async releaseConnection(connection: ReaderConnection): Promise<void> {
    const thread = this.#alive(connection);
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(thread);
    else next(thread);
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
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  /** The thread, or a new one in its place where it has ended. */
  #alive(thread: ReaderConnection): ReaderConnection {
    if (!thread.hasEnded) return thread;
    this.#threads.delete(thread);
    return this.#start();
  }

  #start(): ReaderConnection {
    const thread = new ReaderConnection(this.#path);
    this.#threads.add(thread);
    return thread;
  }
}

const BEGIN = CompiledQuery.raw("begin");
const COMMIT = CompiledQuery.raw("commit");
const ROLLBACK = CompiledQuery.raw("rollback");

/** A connection in a thread of its own. */
class ReaderConnection extends SqliteThread implements DatabaseConnection {
  constructor(path: string) {
    super({ path, role: "reader" });
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    return queryResult<R>(await this.ask({ sql, parameters }));
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }
}
