import { CompiledQuery, type DatabaseConnection, type Dialect, type Driver, type QueryResult } from "kysely";

import { ConnectionQueue } from "../connection-queue.ts";
import { queryResult, sqliteDialect, TransactionalSqliteAdapter } from "./dialect.ts";
import { SqliteThread } from "./thread.ts";

/** How long a query may take, and how long it may wait for a connection. Unless the disk hangs, no query takes a tenth of it. */
const STATEMENT_TIMEOUT_MS = 15_000;

/**
 * Kysely over connections that only read, each in a thread of its own: a slow query never blocks the event loop.
 *
 * @param threads at most; each starts when it is first needed.
 */
export function sqliteThreadsDialect(path: string, threads: number, timeoutMs = STATEMENT_TIMEOUT_MS): Dialect {
  return sqliteDialect(() => threadsDriver(path, threads, timeoutMs), SQLITE_THREADS_ADAPTER);
}

class SqliteThreadsAdapter extends TransactionalSqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** Shared, because prepared queries are cached by adapter (store/prepared.ts). */
const SQLITE_THREADS_ADAPTER = new SqliteThreadsAdapter();

function threadsDriver(path: string, maximum: number, timeoutMs: number): Driver {
  const queue = new ConnectionQueue(maximum, timeoutMs);
  const free: ReaderConnection[] = [];
  const ends = new Map<ReaderConnection, () => void>();
  return {
    async init() {},
    async acquireConnection() {
      const end = await queue.acquire();
      const connection = free.pop() ?? new ReaderConnection(path, timeoutMs);
      ends.set(connection, end);
      return connection;
    },
    async releaseConnection(connection: ReaderConnection) {
      const end = ends.get(connection) ?? (() => {});
      ends.delete(connection);
      if (connection.hasEnded) {
        // It keeps its place until its thread has exited; else threads would pile up while the disk hangs.
        void connection.gone.then(end);
        return;
      }
      free.push(connection);
      end();
    },
    async beginTransaction(connection) {
      await connection.executeQuery(BEGIN);
    },
    async commitTransaction(connection) {
      await connection.executeQuery(COMMIT);
    },
    async rollbackTransaction(connection) {
      await connection.executeQuery(ROLLBACK);
    },
    async destroy() {
      await Promise.all([...free, ...ends.keys()].map((connection) => connection.end()));
    },
  };
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
