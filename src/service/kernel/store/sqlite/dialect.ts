import type { DatabaseSync } from "node:sqlite";

import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, ValueNode } from "kysely";
import type {
  CompiledQuery,
  DatabaseConnection,
  Dialect,
  Driver,
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
 * A Kysely dialect for SQLite, in this thread or in others.
 *
 * Transactions use `begin immediate`: they wait for the write lock at the start, and never fail later because their snapshot became stale
 * (sqlite.org/lang_transaction.html). A read-only transaction sees one snapshot from its first query on.
 */
export function sqliteDialect(createDriver: () => Driver, adapter: SqliteAdapter = SQLITE_ADAPTER): Dialect {
  return {
    createDriver,
    createAdapter: () => adapter,
    createQueryCompiler: () => new NodeSqliteCompiler(),
    createIntrospector: (database) => new SqliteIntrospector(database),
  };
}

/**
 * Uses one connection in the calling thread, which Kysely gives to one transaction or query at a time.
 *
 * @param clock to wait asynchronously for the lock of another process; null lets SQLite wait, which blocks the thread.
 */
export function nodeSqliteDialect(database: DatabaseSync, clock: WaitingClock | null = null): Dialect {
  return sqliteDialect(() => new NodeSqliteDriver(database, clock));
}

class NodeSqliteCompiler extends SqliteQueryCompiler {
  /** Omits row locks such as `for update`: a write transaction locks the whole database. */
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier === undefined || !ROW_LOCKS.has(node.modifier)) super.visitSelectModifier(node);
  }

  /** Writes the limit into the text: SQLite replans a statement with `limit ?` at each run, which doubles the time of a short query. */
  protected override visitLimit(node: LimitNode): void {
    const rows = ValueNode.is(node.limit) ? node.limit.value : null;
    if (Number.isSafeInteger(rows)) this.append(`limit ${String(rows)}`);
    else super.visitLimit(node);
  }
}

export class TransactionalSqliteAdapter extends SqliteAdapter {
  /** DDL is transactional in SQLite, so a migration is atomic. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** Shared, because prepared queries are cached by adapter (store/prepared.ts). */
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

  /** Returns all rows at once: the file is local. */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }
}

/** The result of a statement as Kysely expects it. */
export function queryResult<R>({ columns, rows: values, changes }: StatementResult): QueryResult<R> {
  const rows = values.map((row) => {
    const named: Record<string, unknown> = {};
    for (const [index, column] of columns.entries()) named[column] = row[index];
    return named;
  });
  assertRows<R>(rows);
  return changes === null ? { rows } : { rows, numAffectedRows: BigInt(changes) };
}

/** Kysely derives the type of rows from the query; they are not checked here. */
function assertRows<R>(_rows: readonly unknown[]): asserts _rows is R[] {}
