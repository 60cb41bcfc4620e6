import type { ServiceMachine } from "../machine.ts";
import type { Reader, Transaction } from "./tables.ts";

export type { Reader, Transaction } from "./tables.ts";

/**
 * The store of the service. When `write` resolves, its changes are durable.
 *
 * Outside of this folder, code uses Kysely and does not depend on the kind of database.
 */
export interface Store extends AsyncDisposable {
  readonly reader: Reader;
  /** As `reader`, for queries by a unique key: SQLite runs them in this thread, which is faster than a round trip to another. */
  readonly lookup: Reader;
  /**
   * Runs `job` in a transaction at the isolation level read committed; `forUpdate` locks rows against concurrent changes. Waiting jobs
   * share one commit, and a job may run again after a conflict or a rollback: so a job must have no effects besides its queries.
   *
   * @throws StoreUnavailableError when the database or its disk fails, or too many writes wait.
   */
  write<T>(job: (transaction: Transaction) => Promise<T>): Promise<T>;
  /**
   * A version of the data that `reader` sees: while it is equal, nothing was committed by any process, and queries return the same rows.
   * Cheaper than most queries, so that their results can be cached by it.
   */
  version(): Promise<string>;
  /** Finds out without a write whether the store can be used. @throws StoreUnavailableError when it cannot be reached, is a read-only standby, or a newer program migrated it. */
  probe(): Promise<void>;
}

/** Default number of connections to PostgreSQL of one process. */
export const POOL_SIZE = 10;

/** Where the data is stored. */
export type StoreLocation =
  | {
      readonly kind: "sqlite";
      readonly dataDirectory: string;
      /**
       * Threads for the queries of `reader`; 0 by default. Then they run in the caller's thread, which is enough for a command.
       */
      readonly readerThreads?: number;
    }
  | {
      readonly kind: "postgres";
      /** `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with libpq's parameters. Contains a password: never show or log it. */
      readonly url: string;
      /** `POOL_SIZE` by default. */
      readonly poolSize?: number;
      /** How long a query waits for a connection; 5000 by default. */
      readonly connectTimeoutMs?: number;
    };

export type StoreMachine = Pick<ServiceMachine, "clock" | "files" | "log" | "random">;

/** Runs queries on one snapshot: each sees the store as the first one saw it. */
export function readSnapshot<T>(reader: Reader, read: (snapshot: Transaction) => Promise<T>): Promise<T> {
  return reader.transaction().setIsolationLevel("repeatable read").setAccessMode("read only").execute(read);
}
