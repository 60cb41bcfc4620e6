import { Worker } from "node:worker_threads";

import { CompiledQuery, type DatabaseConnection, type Dialect, type Driver, type QueryResult } from "kysely";

import { ConnectionQueue } from "../connection-queue.ts";
import { StoreUnavailableError } from "../unavailable.ts";
import {
  queryResult,
  type RecordedTransaction,
  sqliteDialect,
  type StatementRequest,
  type StatementResult,
  TransactionalSqliteAdapter,
} from "./dialect.ts";
import { SQLITE_WORKER } from "./worker-file.ts";

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

/** A reader runs queries, a committer replays recorded transactions. */
export interface ThreadSetup {
  readonly path: string;
  readonly role: "reader" | "committer";
}

/** Null asks the thread to end. */
export type ThreadRequest = StatementRequest | RecordedTransaction | null;

export type ThreadAnswer = StatementResult | { readonly error: { readonly message: string; readonly details: object } };

/** A connection in a thread, which answers requests in order. */
export class SqliteThread {
  readonly #worker: Worker;
  readonly #asked: PromiseWithResolvers<StatementResult>[] = [];
  readonly #gone = Promise.withResolvers<void>();
  #failure: StoreUnavailableError | null = null;

  constructor(setup: ThreadSetup) {
    this.#worker = new Worker(SQLITE_WORKER, { name: `sqlite-${setup.role}`, workerData: setup });
    this.#worker.on("message", (answer: ThreadAnswer) => this.#settle(answer));
    this.#worker.on("error", (cause) => this.#fail(`The thread of the database failed: ${String(cause)}`, cause));
    this.#worker.on("exit", () => {
      this.#fail("The thread of the database has ended");
      this.#gone.resolve();
    });
  }

  get hasEnded(): boolean {
    return this.#failure !== null;
  }

  /** Resolves when the thread has exited. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  /** @throws the error of SQLite; StoreUnavailableError where the thread has ended, or ends before it answers. */
  ask(request: StatementRequest | RecordedTransaction): Promise<StatementResult> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    // First, because it throws when a parameter cannot be copied, and then no answer comes.
    this.#worker.postMessage(request);
    const asked = Promise.withResolvers<StatementResult>();
    this.#asked.push(asked);
    return asked.promise;
  }

  async end(): Promise<void> {
    if (this.#failure !== null) return;
    this.#worker.postMessage(null);
    await this.gone;
  }

  /** Rejects all open requests, and ends the thread as soon as SQLite returns. */
  giveUp(reason: string): void {
    this.#fail(reason);
    void this.#worker.terminate();
  }

  #settle(answer: ThreadAnswer): void {
    const asked = this.#asked.shift();
    if ("error" in answer) asked?.reject(Object.assign(new Error(answer.error.message), answer.error.details));
    else asked?.resolve(answer);
  }

  #fail(message: string, cause?: unknown): void {
    this.#failure ??= new StoreUnavailableError(message, { cause });
    for (const { reject } of this.#asked.splice(0)) reject(this.#failure);
  }
}

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
