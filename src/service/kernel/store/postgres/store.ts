import { CompiledQuery, Kysely, sql } from "kysely";
import { Pool, type PoolClient, types } from "pg";

import { isoNow } from "../../../../platform/clock.ts";
import { createBackoff } from "../../../../platform/retry.ts";
import { expectKnownSchema, type migrate, NewerSchemaError } from "../migrator.ts";
import { POOL_SIZE, type Store, type StoreLocation, type StoreMachine } from "../store.ts";
import type { Tables, Transaction } from "../tables.ts";
import { isConflict, StoreUnavailableError, unavailable } from "../unavailable.ts";
import { connectionFailure, fromPostgresText, nodePostgresDialect } from "./dialect.ts";

const CONNECT_TIMEOUT_MS = 5000;
/** The server cancels a statement after this time. */
const STATEMENT_TIMEOUT_MS = 15_000;
/** The server ends an idle transaction after this time, so that a stopped process does not keep its locks. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 15_000;
/** A connection counts as lost when the server has not answered for this time. */
const ANSWER_TIMEOUT_MS = 20_000;
/** How long a write may wait for a locked row. */
const LOCK_TIMEOUT_MS = 5000;
/** How often a write is tried if it ends in a deadlock. */
const ATTEMPTS_MAXIMUM = 8;
const BACKOFF = { firstMs: 10, capMs: 500 } as const;
/** Advisory lock id that no other program on the database uses: "robotrty" in ASCII. */
const RETRY_LOCK = 0x726f_626f_7472_7479n;
const KEEP_ALIVE_AFTER_MS = 10_000;
const IDLE_TIMEOUT_MS = 60_000;

/**
 * Opens the store in a database of PostgreSQL, which any number of processes may share, and brings its schema up to date.
 *
 * Reads and writes have separate connections, so that neither waits for the other.
 *
 * @throws StoreUnavailableError when the database cannot be reached; NewerSchemaError.
 */
export async function openPostgresStore(
  {
    url,
    poolSize = POOL_SIZE,
    connectTimeoutMs = CONNECT_TIMEOUT_MS,
  }: Extract<StoreLocation, { readonly kind: "postgres" }>,
  { clock, random, log }: StoreMachine,
  prepare: typeof migrate,
): Promise<Store> {
  const database = patientPool(url);
  let isPooled: boolean;
  {
    await using patient = openOver(database, UNLIMITED);
    await prepare(patient, isoNow(clock));
    isPooled = await leadsToPooler(database);
  }
  const open = (max: number, settings: Readonly<Record<string, number>>, options?: string) => {
    const limits = { ...LIMITS, ...settings };
    const atStart = { ...limits, ...(options === undefined ? {} : { options }) };
    const pool = new Pool({
      ...CONNECTION,
      query_timeout: ANSWER_TIMEOUT_MS,
      connectionTimeoutMillis: connectTimeoutMs,
      connectionString: withPlainSslMode(url),
      max,
      ...(isPooled ? {} : atStart),
    });
    // An idle connection broke; the pool has removed it already.
    pool.on("error", ({ message }) => log.warn("database_connection_lost", { reason: message }));
    return openOver(pool, isPooled ? limits : null);
  };
  const writers = Math.max(1, Math.floor(poolSize / 2));
  const writer = open(writers, { lock_timeout: LOCK_TIMEOUT_MS });
  const reader = open(Math.max(1, poolSize - writers), {}, "-c default_transaction_read_only=on");
  const running = new Set<Promise<unknown>>();
  return {
    reader,
    lookup: reader,
    write(job) {
      const writing = write(writer, job, { clock, random }).finally(() => running.delete(writing));
      running.add(writing);
      return writing;
    },
    version: () => snapshotOf(reader),
    async probe() {
      const { rows } = await reader.executeQuery<{ readonly is_standby: boolean }>(RECOVERY);
      if (rows[0]?.is_standby !== false) throw new StoreUnavailableError("the database is a read-only standby");
      await probeSchema(reader);
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(running);
      await Promise.all([reader.destroy(), writer.destroy()]);
    },
  };
}

/** Runs a job in a transaction, and again after a deadlock or a serialization failure. */
async function write<T>(
  database: Kysely<Tables>,
  job: (transaction: Transaction) => Promise<T>,
  { clock, random }: Pick<StoreMachine, "clock" | "random">,
): Promise<T> {
  const backoff = createBackoff({ ...BACKOFF, random });
  for (;;) {
    try {
      return await database.transaction().execute(async (transaction) => {
        // Retries of all replicas run one after the other: in parallel, many would fail again and again.
        if (backoff.attempts > 0) await sql`select pg_advisory_xact_lock(${sql.lit(RETRY_LOCK)})`.execute(transaction);
        return job(transaction);
      });
    } catch (error) {
      if (!isConflict(error) || backoff.attempts + 1 >= ATTEMPTS_MAXIMUM) throw unavailable(error);
    }
    await clock.sleep(backoff.nextMs());
  }
}

/**
 * The set of visible transactions (postgresql.org/docs/current/functions-info.html, pg_current_snapshot): while it is equal, nothing was
 * committed. The server's start time is part of it, because after a failover transaction ids may repeat.
 */
async function snapshotOf(reader: Kysely<Tables>): Promise<string> {
  const { rows } = await reader.executeQuery<{ readonly version: string }>(SNAPSHOT);
  const version = rows[0]?.version;
  if (version === undefined) throw new Error("PostgreSQL named no snapshot");
  return version;
}

const SNAPSHOT = CompiledQuery.raw(
  "select pg_current_snapshot()::text || ' ' || pg_postmaster_start_time()::text as version",
);

const RECOVERY = CompiledQuery.raw("select pg_is_in_recovery() as is_standby");

/** A newer replica may have migrated the database: then most queries of this one fail. @throws StoreUnavailableError. */
async function probeSchema(reader: Kysely<Tables>): Promise<void> {
  try {
    await expectKnownSchema(reader);
  } catch (error) {
    if (!(error instanceof NewerSchemaError)) throw error;
    throw new StoreUnavailableError(error.message, { cause: error });
  }
}

/** One connection without time limits, for migrations and restores. */
export function openPatiently(url: string): Kysely<Tables> {
  return openOver(patientPool(url), UNLIMITED);
}

function patientPool(url: string): Pool {
  const pool = new Pool({ ...CONNECTION, connectionString: withPlainSslMode(url), max: 1 });
  // The next query on the connection fails and reports it.
  pool.on("error", () => {});
  return pool;
}

function openOver(pool: Pool, ofTransactions: Readonly<Record<string, number>> | null): Kysely<Tables> {
  pool.on("connect", survive);
  return new Kysely<Tables>({ dialect: nodePostgresDialect(pool, ofTransactions) });
}

/** Whether a pooler answers in place of the server: it tells an id of its own, by which it cancels queries. */
async function leadsToPooler(pool: Pool): Promise<boolean> {
  try {
    const client = await pool.connect();
    try {
      const { rows } = await client.query<{ readonly id: number }>("select pg_backend_pid() as id");
      return !("processID" in client) || client.processID !== rows[0]?.id;
    } finally {
      client.release();
    }
  } catch (error) {
    throw connectionFailure(error);
  }
}

/**
 * Listens for errors of a connection for as long as it lives. The pool stops listening before its caller starts, and a connection that
 * breaks in between would end the process. With this listener the caller's query fails instead.
 */
function survive(connection: PoolClient): void {
  connection.on("error", () => {});
}

/**
 * `pg` treats these values of sslmode as verify-full, and warns on stderr that this will change. Passing verify-full keeps the meaning and
 * avoids the warning.
 */
const VERIFIED: ReadonlySet<string | null> = new Set(["prefer", "require", "verify-ca"]);

function withPlainSslMode(url: string): string {
  const parsed = new URL(url);
  const { searchParams: parameters } = parsed;
  if (!VERIFIED.has(parameters.get("sslmode")) || parameters.has("uselibpqcompat")) return url;
  parameters.set("sslmode", "verify-full");
  return parsed.href;
}

/** Limits that the server keeps, of a connection, or of each transaction behind a pooler. */
const LIMITS = {
  statement_timeout: STATEMENT_TIMEOUT_MS,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
};
const UNLIMITED = { statement_timeout: 0, idle_in_transaction_session_timeout: 0 };

const CONNECTION = {
  fallback_application_name: "robot-policy-service",
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  idleTimeoutMillis: IDLE_TIMEOUT_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
  types: { getTypeParser },
};

/** Converts values to what SQLite returns: text with U+0000, integers as numbers. */
function getTypeParser(oid: number, format?: "text" | "binary"): (text: string) => unknown {
  switch (oid) {
    case types.builtins.TEXT:
    case types.builtins.VARCHAR:
      return fromPostgresText;
    case types.builtins.INT8:
    case types.builtins.NUMERIC:
      return Number;
    default:
      return types.getTypeParser(oid, format);
  }
}
