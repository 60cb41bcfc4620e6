import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type LimitNode,
  type QueryResult,
  type SelectModifierNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  ValueNode,
} from "kysely";

import { retryWhileLocked, type WaitingClock } from "./database.ts";

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
  return sqliteDialect(() => nodeSqliteDriver(database, clock));
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

/** @param connection runs the queries; begins, commits and rollbacks go to the database itself. */
export function nodeSqliteDriver(
  database: DatabaseSync,
  clock: WaitingClock | null,
  connection = sessionConnection(new SqliteSession(database)),
): Driver {
  return {
    async init() {
      if (clock !== null) database.exec("pragma busy_timeout = 0");
    },
    async acquireConnection() {
      return connection;
    },
    async releaseConnection() {},
    async beginTransaction(_connection, { accessMode }) {
      const begin = () => database.exec(accessMode === "read only" ? "begin" : "begin immediate");
      if (clock === null) begin();
      else await retryWhileLocked(begin, clock);
    },
    async commitTransaction() {
      database.exec("commit");
    },
    async rollbackTransaction() {
      // A full disk or an I/O error makes SQLite roll back on its own.
      if (database.isTransaction) database.exec("rollback");
    },
    async destroy() {
      database.close();
    },
  };
}

/** @param onRun called with each statement that has run. */
export function sessionConnection(
  session: SqliteSession,
  onRun: (statement: StatementRequest) => void = () => {},
): DatabaseConnection {
  async function executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const result = queryResult<R>(session.run(sql, parameters));
    onRun({ sql, parameters });
    return result;
  }
  return {
    executeQuery,
    /** Returns all rows at once: the file is local. */
    async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
      yield await executeQuery<R>(query);
    },
  };
}

/** The result of a statement as Kysely expects it. */
export function queryResult<R>({ columns, rows: values, changes }: StatementResult): QueryResult<R> {
  const rows = values.map((row) => {
    const named: Record<string, unknown> = {};
    for (const [index, column] of columns.entries()) named[column] = row[index];
    // oxlint-disable-next-line typescript/consistent-type-assertions -- Kysely derives the type from the query
    return named as R;
  });
  return changes === null ? { rows } : { rows, numAffectedRows: BigInt(changes) };
}

/** Prepared statements kept; the service has fewer queries. */
const STATEMENTS_MAXIMUM = 256;

export interface StatementRequest {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** What a statement returned. */
export interface StatementResult {
  readonly columns: readonly string[];
  /** The values of each row, by `columns`: a thread passes them on in a third of the time that objects take. */
  readonly rows: readonly (readonly unknown[])[];
  /** Rows that it changed; null for a statement that returns rows. */
  readonly changes: number | bigint | null;
}

/** A transaction that ran and was rolled back, for the connection that commits to replay: its statements, without those that only read. */
export type RecordedTransaction = readonly StatementRequest[];

/** Runs the statements of one connection, each prepared once. */
export class SqliteSession {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, Prepared>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** @throws the error of SQLite, or one that names the statement when SQLite has no type for a parameter. */
  run(sql: string, parameters: readonly unknown[]): StatementResult {
    const { statement, columns } = this.#prepare(sql);
    if (!parameters.every(isBindable)) throw new Error(`Cannot bind a parameter of: ${sql}`);
    if (columns.length === 0) return { columns, rows: [], changes: statement.run(...parameters).changes };
    // oxlint-disable-next-line typescript/consistent-type-assertions -- its type does not know of `setReturnArrays`
    const rows = statement.all(...parameters) as unknown as StatementResult["rows"];
    return { columns, rows, changes: null };
  }

  /** Runs a statement that returns a single number. */
  number(sql: string): number {
    const row = this.#prepare(sql).statement.get();
    const [value] = Object.values(row ?? {});
    if (typeof value !== "number") throw new Error(`SQLite returned no number: ${sql}`);
    return value;
  }

  #prepare(sql: string): Prepared {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    statement.setReturnArrays(true);
    const prepared = { statement, columns: statement.columns().map(({ name }) => name) };
    if (this.#statements.size >= STATEMENTS_MAXIMUM) this.#statements.clear();
    this.#statements.set(sql, prepared);
    return prepared;
  }
}

interface Prepared {
  readonly statement: StatementSync;
  /** None for a statement that returns no rows. */
  readonly columns: readonly string[];
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
