import { hash } from "node:crypto";

import {
  type DataTypeNode,
  type Kysely,
  PostgresAdapter,
  type PostgresCursor,
  PostgresDialect,
  type PostgresPoolClient,
  PostgresQueryCompiler,
  type PostgresQueryResult,
  sql,
} from "kysely";
import type { Pool, PoolClient } from "pg";

import { ConnectionQueue } from "../connection-queue.ts";
import { isRefusal, StoreUnavailableError, WrongEncodingError } from "../unavailable.ts";

/** Queries with longer lists are not prepared: each length of a list is another statement. */
const PREPARED_PARAMETERS_MAXIMUM = 32;
/** How long a query waits for a free connection. */
const PATIENCE_MS = 5000;
/** Advisory lock id that no other program on the database uses: "robotpol" in ASCII. */
const MIGRATION_LOCK = 0x726f_626f_7470_6f6cn;

/**
 * Kysely's dialect over `pg`, with what it lacks: prepared statements, texts with U+0000, a bound on queries that wait for a connection,
 * and closing a connection after any error that is not the query's.
 *
 * @param ofTransactions settings of each transaction, for connections that lead to a pooler such as PgBouncer: it may hand each transaction to
 * another connection of the server, so that neither settings nor prepared statements of a connection last. Null for the server itself.
 */
export function nodePostgresDialect(pool: Pool, ofTransactions: Readonly<Record<string, number>> | null) {
  const queue = new ConnectionQueue(pool.options.max, PATIENCE_MS);
  return new BytewisePostgresDialect({
    pool: {
      options: pool.options,
      connect: () => connect(pool, queue, ofTransactions),
      end: () => pool.end(),
    },
  });
}

class BytewisePostgresDialect extends PostgresDialect {
  override createQueryCompiler() {
    return new BytewisePostgresCompiler();
  }

  override createAdapter() {
    return new LockingPostgresAdapter();
  }
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

async function connect(
  pool: Pool,
  queue: ConnectionQueue,
  ofTransactions: Readonly<Record<string, number>> | null,
): Promise<PostgresPoolClient> {
  const end = await queue.acquire();
  try {
    return new Connection(await pool.connect(), ofTransactions, end);
  } catch (error) {
    end();
    throw connectionFailure(error);
  }
}

/** A connection while Kysely uses it. */
class Connection implements PostgresPoolClient {
  readonly #client: PoolClient;
  readonly #ofTransactions: Readonly<Record<string, number>> | null;
  readonly #onRelease: () => void;
  /** Set once the connection can no longer be trusted. */
  #broken: Error | null = null;

  constructor(client: PoolClient, ofTransactions: Readonly<Record<string, number>> | null, onRelease: () => void) {
    this.#onRelease = onRelease;
    this.#client = client;
    this.#ofTransactions = ofTransactions;
    client.on("error", this.#onError);
  }

  readonly #onError = (error: Error): void => {
    this.#broken ??= error;
  };

  query<R>(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  query<R>(
    text: string | PostgresCursor<R>,
    parameters: readonly unknown[] = [],
  ): Promise<PostgresQueryResult<R>> | PostgresCursor<R> {
    if (typeof text !== "string") throw new Error("Queries are not streamed; page through them");
    return this.#run(text, parameters);
  }

  async #run<R>(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>> {
    const answer = await this.#send<R>(text, parameters.map(toParameter));
    if (this.#ofTransactions !== null && BEGINS_TRANSACTION.test(text)) {
      const settings = Object.entries(this.#ofTransactions).map(([name, value]) => `set local ${name} = ${value}`);
      await this.#send(settings.join("; "), []);
    }
    return answer;
  }

  async #send<R>(text: string, values: PostgresParameter[]): Promise<PostgresQueryResult<R>> {
    if (this.#broken !== null) throw connectionFailure(this.#broken);
    const isPrepared =
      this.#ofTransactions === null && values.length > 0 && values.length <= PREPARED_PARAMETERS_MAXIMUM;
    try {
      const { command, rowCount, rows } = await this.#client.query({
        text,
        values,
        ...(isPrepared ? { name: hash("sha1", text) } : {}),
      });
      return { command: COMMANDS.find((known) => known === command) ?? "SELECT", rowCount: rowCount ?? 0, rows };
    } catch (error) {
      if (isRefusal(error)) throw error;
      this.#onError(asError(error));
      throw connectionFailure(error);
    }
  }

  release(isDiscarded = false): void {
    this.#client.off("error", this.#onError);
    this.#client.release(this.#broken ?? isDiscarded);
    this.#onRelease();
  }
}

const BEGINS_TRANSACTION = /^(?:begin$|start transaction)/;
const COMMANDS = ["UPDATE", "DELETE", "INSERT", "SELECT", "MERGE", "COMMIT", "ROLLBACK"] as const;

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

/**
 * PostgreSQL's text cannot hold U+0000, which clients may send, for example as %00 in a path. It is stored as an escape sequence of two
 * other characters, so that such a text is stored and found like any other.
 *
 * The escape character is a noncharacter, which texts do not normally contain (Unicode 23.7); a text that does contains it twice.
 */
const MARK = "\u{10FFFF}";
const NUL = "\u0000";

/** Escapes a text for PostgreSQL. */
export function toPostgresText(text: string): string {
  if (!text.includes(NUL) && !text.includes(MARK)) return text;
  return text.replaceAll(MARK, `${MARK}1`).replaceAll(NUL, `${MARK}0`);
}

/** The inverse of `toPostgresText`. */
export function fromPostgresText(text: string): string {
  if (!text.includes(MARK)) return text;
  return text.replaceAll(`${MARK}0`, NUL).replaceAll(`${MARK}1`, MARK);
}
