import type { DatabaseSync } from "node:sqlite";

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

import { retryWhileLocked, type WaitingClock } from "./lock.ts";
import { SqliteSession, type StatementRequest, type StatementResult } from "./session.ts";

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
