import type { DatabaseSync } from "node:sqlite";

import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, ValueNode } from "kysely";
import type {
  CompiledQuery,
  DatabaseConnection,
  Dialect,
  Driver,
  Kysely,
  LimitNode,
  QueryResult,
  SelectModifierNode,
  TransactionSettings,
} from "kysely";

import { retryWhileLocked } from "./lock.ts";
import type { WaitingClock } from "./lock.ts";
import { SqliteSession } from "./session.ts";
import type { StatementResult } from "./session.ts";

const ROW_LOCKS: ReadonlySet<string> = new Set([
  "ForUpdate",
  "ForNoKeyUpdate",
  "ForShare",
  "ForKeyShare",
  "NoWait",
  "SkipLocked",
]);

/**
 * Kysely over SQLite, wherever its connections are.
 *
 * A transaction begins immediate, so that it waits for the write lock at its begin and never fails with a snapshot that
 * turned stale under it (sqlite.org/lang_transaction.html). One that only reads sees one snapshot from its first query on.
 */
export abstract class SqliteDialect implements Dialect {
  abstract createDriver(): Driver;
  abstract createAdapter(): SqliteAdapter;

  createQueryCompiler(): SqliteQueryCompiler {
    return new NodeSqliteCompiler();
  }

  createIntrospector(database: Kysely<unknown>): SqliteIntrospector {
    return new SqliteIntrospector(database);
  }
}

/** Over one connection in the thread that calls, which Kysely gives to one transaction or query at a time. */
export class NodeSqliteDialect extends SqliteDialect {
  readonly #database: DatabaseSync;
  readonly #clock: WaitingClock | null;

  /**
   * @param clock with which a transaction waits for the lock of another process, while everything else goes on; without one SQLite waits, and
   * blocks the thread.
   */
  constructor(database: DatabaseSync, clock: WaitingClock | null = null) {
    super();
    this.#database = database;
    this.#clock = clock;
  }

  createDriver(): Driver {
    return new NodeSqliteDriver(this.#database, this.#clock);
  }

  createAdapter(): TransactionalSqliteAdapter {
    return SQLITE_ADAPTER;
  }
}

class NodeSqliteCompiler extends SqliteQueryCompiler {
  /** A write transaction holds the whole database, so that there is no row to lock in it, and none to skip. */
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier === undefined || !ROW_LOCKS.has(node.modifier)) super.visitSelectModifier(node);
  }

  /** As text: SQLite plans a statement with `limit ?` anew at each run, because the plan may depend on the value. That doubles a short query. */
  protected override visitLimit(node: LimitNode): void {
    const rows = ValueNode.is(node.limit) ? node.limit.value : null;
    if (Number.isSafeInteger(rows)) this.append(`limit ${String(rows)}`);
    else super.visitLimit(node);
  }
}

export class TransactionalSqliteAdapter extends SqliteAdapter {
  /** SQLite's DDL is transactional; a migration happens whole or not at all. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** One for all databases, which share their prepared queries by it (store/prepared.ts). */
const SQLITE_ADAPTER = new TransactionalSqliteAdapter();

export class NodeSqliteDriver implements Driver {
  readonly #database: DatabaseSync;
  readonly #connection: DatabaseConnection;
  readonly #clock: WaitingClock | null;

  constructor(database: DatabaseSync, clock: WaitingClock | null) {
    this.#database = database;
    this.#clock = clock;
    this.#connection = new NodeSqliteConnection(new SqliteSession(database));
  }

  async init(): Promise<void> {
    if (this.#clock !== null) this.#database.exec("pragma busy_timeout = 0");
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async releaseConnection(): Promise<void> {}

  async beginTransaction(_connection: DatabaseConnection, { accessMode }: TransactionSettings): Promise<void> {
    const begin = () => this.#database.exec(accessMode === "read only" ? "begin" : "begin immediate");
    if (this.#clock === null) begin();
    else await retryWhileLocked(begin, this.#clock);
  }

  async commitTransaction(): Promise<void> {
    this.#database.exec("commit");
  }

  async rollbackTransaction(): Promise<void> {
    // A full disk or an I/O error makes SQLite roll back on its own.
    if (this.#database.isTransaction) this.#database.exec("rollback");
  }

  async destroy(): Promise<void> {
    this.#database.close();
  }
}

export class NodeSqliteConnection implements DatabaseConnection {
  readonly #session: SqliteSession;

  constructor(session: SqliteSession) {
    this.#session = session;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    return queryResult<R>(this.#session.run(sql, parameters));
  }

  /** In one piece: the file is local, and SQLite answers at once. */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }
}

/** What a statement returned, as Kysely wants it. */
export function queryResult<R>({ rows, changes }: StatementResult): QueryResult<R> {
  assertRows<R>(rows);
  return changes === null ? { rows } : { rows, numAffectedRows: BigInt(changes) };
}

/** Kysely knows from the query what its rows are; the database does not. Nothing is looked at. */
function assertRows<R>(_rows: readonly unknown[]): asserts _rows is R[] {}
