import type { Kysely, Transaction } from "kysely";

import type { ServiceMachine } from "../machine.ts";
import type { Tables } from "./tables.ts";

/** For queries: of what is committed and durable, or within a transaction. */
export type Reader = Kysely<Tables>;

/**
 * The service's memory. What `write` resolved with is on the disk.
 *
 * Everything but this file and those it opens stores with speaks Kysely and does not know which database answers.
 */
export interface Store extends AsyncDisposable {
  readonly reader: Reader;
  /** The same, for a query that finds a row by a unique key: SQLite answers it in this thread, which is faster than to ask another. */
  readonly lookup: Reader;
  /**
   * Runs `job` in a transaction that sees what was committed before each of its queries; rows it must not lose to others it
   * locks by `forUpdate`. Jobs that wait together share one commit, and a job that met another in the way is run again: so a
   * job does nothing but query.
   *
   * @throws StoreUnavailableError when the database or its disk fails, or too many writes wait.
   */
  write<T>(job: (transaction: Transaction<Tables>) => Promise<T>): Promise<T>;
  /**
   * Names what `reader` sees: where it is the same twice, nothing was committed in between, by whomever, and no query can
   * tell the two moments apart. Cheaper than most queries, so that what they answered may be kept.
   */
  version(): Promise<string>;
}

/** Where everything is kept. */
export type StoreLocation =
  | {
      readonly kind: "sqlite";
      readonly data_directory: string;
      /**
       * Threads for the queries of `reader`; none where it is left out. Then they run in the caller's thread, which suits a command that
       * does one thing.
       */
      readonly readerThreads?: number;
    }
  | {
      readonly kind: "postgres";
      /** `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with libpq's parameters; never to be shown as it is. */
      readonly url: string;
      /** Connections of this process. */
      readonly pool_size?: number;
    };

export type StoreMachine = Pick<ServiceMachine, "clock" | "files" | "log" | "random">;
