import { CompiledQuery, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from "kysely";
import type { DatabaseConnection, DataTypeNode, Dialect, Driver, Kysely, QueryResult } from "kysely";
import type { Pool, PoolClient } from "pg";

import type { Clock } from "../../../../platform/clock.ts";
import { ConnectionQueue } from "../connection-queue.ts";
import { isRefusal, StoreUnavailableError } from "../unavailable.ts";
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
 */
export function nodePostgresDialect(pool: Pool, clock: Pick<Clock, "monotonicMs">): Dialect {
  return {
    createDriver: () => nodePostgresDriver(pool, clock),
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
    await sql`select pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)})`.execute(transaction);
  }

  override async releaseMigrationLock(): Promise<void> {}
}

function nodePostgresDriver(pool: Pool, clock: Pick<Clock, "monotonicMs">): Driver {
  const queue = new ConnectionQueue(pool.options.max, PATIENCE_MS);
  const names = new StatementNames();
  /** The last failed attempt to connect; null after a successful one. */
  let failure: { readonly error: StoreUnavailableError; readonly atMs: number } | null = null;

  async function connect(end: () => void): Promise<NodePostgresConnection> {
    const isDown = pool.totalCount === 0;
    if (failure !== null && isDown && clock.monotonicMs() - failure.atMs < RECONNECT_PAUSE_MS) throw failure.error;
    try {
      const client = await pool.connect();
      failure = null;
      return new NodePostgresConnection(client, names, end);
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
    async releaseConnection(connection: NodePostgresConnection) {
      connection.release();
    },
    async beginTransaction(connection, { isolationLevel, accessMode }) {
      const level = isolationLevel === undefined ? "" : ` isolation level ${isolationLevel}`;
      const mode = accessMode === undefined ? "" : ` ${accessMode}`;
      await connection.executeQuery(CompiledQuery.raw(`begin${level}${mode}`));
    },
    async commitTransaction(connection: NodePostgresConnection) {
      await connection.commit();
    },
    async rollbackTransaction(connection: NodePostgresConnection) {
      await connection.rollback();
    },
    async destroy() {
      await pool.end();
    },
  };
}

class NodePostgresConnection implements DatabaseConnection {
  readonly #client: PoolClient;
  readonly #names: StatementNames;
  readonly #onRelease: () => void;
  /** Set once the connection can no longer be trusted. */
  #broken: Error | null = null;

  constructor(client: PoolClient, names: StatementNames, onRelease: () => void) {
    this.#client = client;
    this.#names = names;
    this.#onRelease = onRelease;
    client.on("error", this.#onError);
  }

  readonly #onError = (error: Error): void => {
    this.#broken ??= error;
  };

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, rowCount, command } = await this.#query(query.sql, query.parameters.map(toParameter));
    const changed = command === "INSERT" || command === "UPDATE" || command === "DELETE";
    return changed ? { rows, numAffectedRows: BigInt(rowCount ?? 0) } : { rows };
  }

  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error("Queries are not streamed; page through them");
  }

  /** @throws when the server rolled back instead, because a statement of the transaction had failed. */
  async commit(): Promise<void> {
    const { command } = await this.#query("commit", []);
    if (command === "ROLLBACK") throw new Error("The transaction had failed before its commit");
  }

  async rollback(): Promise<void> {
    if (this.#broken !== null) return;
    // If it fails, the connection is closed, which ends its transaction.
    await this.#query("rollback", []).catch((error: unknown) => this.#onError(asError(error)));
  }

  release(): void {
    this.#client.off("error", this.#onError);
    this.#client.release(this.#broken ?? undefined);
    this.#onRelease();
  }

  async #query(text: string, values: PostgresParameter[]) {
    if (this.#broken !== null) throw connectionFailure(this.#broken);
    const isPrepared = values.length > 0 && values.length <= PREPARED_PARAMETERS_MAXIMUM;
    const name = isPrepared ? this.#names.of(text) : undefined;
    try {
      return await this.#client.query({ text, values, ...(name === undefined ? {} : { name }) });
    } catch (error) {
      if (isRefusal(error)) throw error;
      this.#onError(asError(error));
      throw connectionFailure(error);
    }
  }
}

/** Names of prepared statements; queries beyond the limit are parsed each time. */
class StatementNames {
  readonly #names = new Map<string, string>();

  of(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= STATEMENTS_MAXIMUM) return known;
    const name = `s${this.#names.size}`;
    this.#names.set(text, name);
    return name;
  }
}

type PostgresParameter = string | number | bigint | boolean | Uint8Array | null;

function toParameter(value: unknown): PostgresParameter {
  if (typeof value === "string") return toPostgresText(value);
  if (value === null || value instanceof Uint8Array) return value;
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return value;
  throw new Error(`Cannot bind a parameter of type ${typeof value}`);
}

/** An error that the server did not report means a lost or missing connection. */
function connectionFailure(error: unknown): StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error;
  return new StoreUnavailableError(asError(error).message, { cause: error });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
