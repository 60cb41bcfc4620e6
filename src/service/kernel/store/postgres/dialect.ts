import {
  CompiledQuery,
  type DataTypeNode,
  type Dialect,
  type Driver,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  sql,
} from "kysely";
import type { Pool, PoolClient } from "pg";

import type { Clock } from "../../../../platform/clock.ts";
import { ConnectionQueue } from "../connection-queue.ts";
import { isRefusal, StoreUnavailableError, WrongEncodingError } from "../unavailable.ts";
import { toPostgresText } from "./text.ts";

/** Statements prepared on each connection; the service has fewer queries, except for those with long lists. */
const STATEMENTS_MAXIMUM = 512;
/** Queries with longer lists are not prepared: each length of a list is another statement, and they would evict all others. */
const PREPARED_PARAMETERS_MAXIMUM = 32;
/** Pause after a failed connection attempt while there is no connection, so as not to overload a starting database. */
const RECONNECT_PAUSE_MS = 100;
/** How long a query waits for a free connection. */
const PATIENCE_MS = 5000;
/** Advisory lock id that no other program on the database uses: "robotpol" in ASCII. */
const MIGRATION_LOCK = 0x726f_626f_7470_6f6cn;

/**
 * Kysely over `pg`, with what Kysely's own dialect lacks: prepared statements, a bound on queries that wait for a connection, and closing
 * a connection after any error that is not the query's.
 *
 * @param ofTransactions settings of each transaction, for connections that lead to a pooler such as PgBouncer: it may hand each transaction to
 * another connection of the server, so that neither settings nor prepared statements of a connection last. Null for the server itself.
 */
export function nodePostgresDialect(
  pool: Pool,
  clock: Pick<Clock, "monotonicMs">,
  ofTransactions: Readonly<Record<string, number>> | null,
): Dialect {
  return {
    createDriver: () => nodePostgresDriver(pool, clock, ofTransactions),
    createQueryCompiler: () => new BytewisePostgresCompiler(),
    createAdapter: () => new LockingPostgresAdapter(),
    createIntrospector: (database) => new PostgresIntrospector(database),
  };
}

/**
 * Column types that behave as in SQLite: text compares bytewise whatever the locale of the database, so that ids and times sort alike on
 * both, and integers have 64 bits.
 */
class BytewisePostgresCompiler extends PostgresQueryCompiler {
  protected override visitDataType(node: DataTypeNode): void {
    const inColumn = this.parentNode?.kind === "ColumnDefinitionNode";
    if (inColumn && node.dataType === "text") this.append('text collate "C"');
    else if (inColumn && node.dataType === "integer") this.append("bigint");
    else super.visitDataType(node);
  }
}

class LockingPostgresAdapter extends PostgresAdapter {
  /** PostgreSQL releases the lock at the end of the transaction. */
  override async acquireMigrationLock(transaction: Kysely<unknown>): Promise<void> {
    const encoding = await sql<{ readonly server_encoding: string }>`show server_encoding`.execute(transaction);
    const [{ server_encoding: name } = { server_encoding: "" }] = encoding.rows;
    if (name !== "UTF8") throw new WrongEncodingError(`the database has the encoding ${name}, and texts here are UTF8`);
    await sql`select pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)})`.execute(transaction);
  }

  override async releaseMigrationLock(): Promise<void> {}
}

function nodePostgresDriver(
  pool: Pool,
  clock: Pick<Clock, "monotonicMs">,
  ofTransactions: Readonly<Record<string, number>> | null,
): Driver {
  const locals = Object.entries(ofTransactions ?? {}).map(([name, value]) => `; set local ${name} = ${value}`);
  const queue = new ConnectionQueue(pool.options.max, PATIENCE_MS);
  /** Names of prepared statements; queries beyond the limit are parsed each time. */
  const names = new Map<string, string>();
  /** The last failed attempt to connect; null after a successful one. */
  let failure: { readonly error: StoreUnavailableError; readonly atMs: number } | null = null;

  function nameOf(text: string): string | undefined {
    if (ofTransactions !== null) return undefined;
    const known = names.get(text);
    if (known !== undefined || names.size >= STATEMENTS_MAXIMUM) return known;
    const name = `s${names.size}`;
    names.set(text, name);
    return name;
  }

  async function connect(end: () => void): Promise<PostgresConnection> {
    const isDown = pool.totalCount === 0;
    if (failure !== null && isDown && clock.monotonicMs() - failure.atMs < RECONNECT_PAUSE_MS) throw failure.error;
    try {
      const client = await pool.connect();
      failure = null;
      return postgresConnection(client, nameOf, end);
    } catch (error) {
      failure = { error: connectionFailure(error), atMs: clock.monotonicMs() };
      throw failure.error;
    }
  }

  return {
    async init() {},
    async acquireConnection() {
      const end = await queue.acquire();
      try {
        return await connect(end);
      } catch (error) {
        end();
        throw error;
      }
    },
    async releaseConnection(connection: PostgresConnection) {
      connection.release();
    },
    async beginTransaction(connection, { isolationLevel, accessMode }) {
      const level = isolationLevel === undefined ? "" : ` isolation level ${isolationLevel}`;
      const mode = accessMode === undefined ? "" : ` ${accessMode}`;
      await connection.executeQuery(CompiledQuery.raw(`begin${level}${mode}${locals.join("")}`));
    },
    async commitTransaction(connection: PostgresConnection) {
      await connection.commit();
    },
    async rollbackTransaction(connection: PostgresConnection) {
      await connection.rollback();
    },
    async destroy() {
      await pool.end();
    },
  };
}

/** @param nameOf the name to prepare a statement under; undefined for one that is parsed each time. */
function postgresConnection(client: PoolClient, nameOf: (text: string) => string | undefined, onRelease: () => void) {
  /** Set once the connection can no longer be trusted. */
  let broken: Error | null = null;
  const onError = (error: Error): void => {
    broken ??= error;
  };
  client.on("error", onError);

  async function query(text: string, values: PostgresParameter[]) {
    if (broken !== null) throw connectionFailure(broken);
    const isPrepared = values.length > 0 && values.length <= PREPARED_PARAMETERS_MAXIMUM;
    const name = isPrepared ? nameOf(text) : undefined;
    try {
      return await client.query({ text, values, ...(name === undefined ? {} : { name }) });
    } catch (error) {
      if (isRefusal(error)) throw error;
      onError(asError(error));
      throw connectionFailure(error);
    }
  }

  return {
    async executeQuery<R>({ sql: text, parameters }: CompiledQuery): Promise<QueryResult<R>> {
      const { rows, rowCount, command } = await query(text, parameters.map(toParameter));
      const changed = command === "INSERT" || command === "UPDATE" || command === "DELETE";
      return changed ? { rows, numAffectedRows: BigInt(rowCount ?? 0) } : { rows };
    },
    streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
      throw new Error("Queries are not streamed; page through them");
    },
    /** @throws when the server rolled back instead, because a statement of the transaction had failed. */
    async commit() {
      const { command } = await query("commit", []);
      if (command === "ROLLBACK") throw new Error("The transaction had failed before its commit");
    },
    async rollback() {
      if (broken !== null) return;
      // If it fails, the connection is closed, which ends its transaction.
      await query("rollback", []).catch((error: unknown) => onError(asError(error)));
    },
    release() {
      client.off("error", onError);
      client.release(broken ?? undefined);
      onRelease();
    },
  };
}

type PostgresConnection = ReturnType<typeof postgresConnection>;

type PostgresParameter = string | number | bigint | boolean | Uint8Array | null;

function toParameter(value: unknown): PostgresParameter {
  if (typeof value === "string") return toPostgresText(value);
  if (value === null || value instanceof Uint8Array) return value;
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return value;
  throw new Error(`Cannot bind a parameter of type ${typeof value}`);
}

/** An error that the server did not report means a lost or missing connection. */
export function connectionFailure(error: unknown): StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error;
  return new StoreUnavailableError(asError(error).message, { cause: error });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
