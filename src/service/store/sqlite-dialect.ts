import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

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

/** Prepared statements kept; the queries of the service are fewer. */
const STATEMENTS_MAXIMUM = 256;
const ROW_LOCKS: ReadonlySet<string> = new Set([
  "ForUpdate",
  "ForNoKeyUpdate",
  "ForShare",
  "ForKeyShare",
  "NoWait",
  "SkipLocked",
]);

/**
 * Kysely over node:sqlite: one connection, which Kysely gives to one transaction or query at a time.
 *
 * A transaction begins immediate, so that it waits for the write lock at its begin and never fails with a snapshot that
 * turned stale under it (sqlite.org/lang_transaction.html). One that only reads sees one snapshot from its first query on.
 */
export class NodeSqliteDialect implements Dialect {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  createDriver(): Driver {
    return new NodeSqliteDriver(this.#database);
  }

  createQueryCompiler(): SqliteQueryCompiler {
    return new NodeSqliteCompiler();
  }

  createAdapter(): TransactionalSqliteAdapter {
    return SQLITE_ADAPTER;
  }

  createIntrospector(database: Kysely<unknown>): SqliteIntrospector {
    return new SqliteIntrospector(database);
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

class TransactionalSqliteAdapter extends SqliteAdapter {
  /** SQLite's DDL is transactional; a migration happens whole or not at all. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** One for all databases, which share their prepared queries by it (prepared.ts). */
const SQLITE_ADAPTER = new TransactionalSqliteAdapter();

class NodeSqliteDriver implements Driver {
  readonly #database: DatabaseSync;
  readonly #connection: NodeSqliteConnection;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#connection = new NodeSqliteConnection(database);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async releaseConnection(): Promise<void> {}

  async beginTransaction(_connection: DatabaseConnection, { accessMode }: TransactionSettings): Promise<void> {
    this.#database.exec(accessMode === "read only" ? "begin" : "begin immediate");
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

class NodeSqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, Prepared>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { statement, hasRows } = this.#prepare(query.sql);
    const { parameters } = query;
    if (!parameters.every(isBindable)) throw new Error(`Cannot bind a parameter of: ${query.sql}`);
    if (hasRows) {
      const rows: unknown[] = statement.all(...parameters);
      assertRows<R>(rows);
      return { rows };
    }
    const { changes } = statement.run(...parameters);
    return { rows: [], numAffectedRows: BigInt(changes) };
  }

  /** In one piece: the file is local, and SQLite answers at once. */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }

  #prepare(sql: string): Prepared {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    const prepared = { statement, hasRows: statement.columns().length > 0 };
    if (this.#statements.size >= STATEMENTS_MAXIMUM) this.#statements.clear();
    this.#statements.set(sql, prepared);
    return prepared;
  }
}

interface Prepared {
  readonly statement: StatementSync;
  readonly hasRows: boolean;
}

function isBindable(value: unknown): value is SQLInputValue {
  return (
    value === null ||
    typeof value === "string" ||
    typeof value === "number" ||
    typeof value === "bigint" ||
    value instanceof Uint8Array
  );
}

/** Kysely knows from the query what its rows are; the database does not. Nothing is looked at. */
function assertRows<R>(_rows: unknown[]): asserts _rows is R[] {}
