import { once } from "node:events";
import { Worker } from "node:worker_threads";

import { CompiledQuery } from "kysely";
import type { DatabaseConnection, Driver, QueryResult } from "kysely";

import { queryResult, SqliteDialect, TransactionalSqliteAdapter } from "./sqlite-dialect.ts";
import type { StatementResult } from "./sqlite-session.ts";
import { SQLITE_WORKER } from "./sqlite-worker-file.ts";
import { StoreUnavailableError, WAITING_MAXIMUM } from "./unavailable.ts";

export interface StatementRequest {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

export type StatementAnswer =
  | StatementResult
  | { readonly error: { readonly message: string; readonly details: object } };

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
  readonly #threads = new Set<SqliteThread>();
  readonly #free: SqliteThread[] = [];
  readonly #waiting: ((thread: SqliteThread) => void)[] = [];

  constructor(path: string, maximum: number) {
    this.#path = path;
    this.#maximum = maximum;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<SqliteThread> {
    const free = this.#free.pop();
    if (free !== undefined) return this.#alive(free);
    if (this.#threads.size < this.#maximum) return this.#start();
    if (this.#waiting.length >= WAITING_MAXIMUM) throw new StoreUnavailableError("Too many queries wait");
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async releaseConnection(connection: SqliteThread): Promise<void> {
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
  #alive(thread: SqliteThread): SqliteThread {
    if (!thread.hasEnded) return thread;
    this.#threads.delete(thread);
    return this.#start();
  }

  #start(): SqliteThread {
    const thread = new SqliteThread(this.#path);
    this.#threads.add(thread);
    return thread;
  }
}

const BEGIN = CompiledQuery.raw("begin");
const COMMIT = CompiledQuery.raw("commit");
const ROLLBACK = CompiledQuery.raw("rollback");

/** A connection in a thread, which answers statements in the order in which they were asked. */
class SqliteThread implements DatabaseConnection {
  readonly #worker: Worker;
  readonly #asked: PromiseWithResolvers<StatementResult>[] = [];
  #failure: StoreUnavailableError | null = null;

  constructor(path: string) {
    this.#worker = new Worker(SQLITE_WORKER, { name: "sqlite-reader", workerData: path });
    this.#worker.on("message", (answer: StatementAnswer) => this.#settle(answer));
    this.#worker.on("error", (cause) => this.#fail(`The thread of the database failed: ${String(cause)}`, cause));
    this.#worker.on("exit", () => this.#fail("The thread of the database has ended"));
  }

  get hasEnded(): boolean {
    return this.#failure !== null;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    return queryResult<R>(await this.#ask({ sql, parameters }));
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }

  async end(): Promise<void> {
    if (this.#failure !== null) return;
    const exit = once(this.#worker, "exit");
    this.#worker.postMessage(null);
    await exit;
  }

  #ask(request: StatementRequest): Promise<StatementResult> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    // First: it throws where a parameter cannot be copied, and then there is no answer to wait for.
    this.#worker.postMessage(request);
    const asked = Promise.withResolvers<StatementResult>();
    this.#asked.push(asked);
    return asked.promise;
  }

  #settle(answer: StatementAnswer): void {
    const asked = this.#asked.shift();
    if ("error" in answer) asked?.reject(Object.assign(new Error(answer.error.message), answer.error.details));
    else asked?.resolve(answer);
  }

  #fail(message: string, cause?: unknown): void {
    this.#failure ??= new StoreUnavailableError(message, { cause });
    for (const { reject } of this.#asked.splice(0)) reject(this.#failure);
  }
}
