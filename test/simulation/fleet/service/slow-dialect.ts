import type { CompiledQuery, DatabaseConnection, Dialect, QueryResult } from "kysely";

import type { Store } from "../../../../src/service/kernel/store/store.ts";
import type { Process } from "../../scheduler.ts";
import type { ServiceMistake } from "../service-mistakes.ts";
import type { Connections, ServiceDisk } from "./service-disk.ts";

export interface Connection {
  readonly store: Store;
  /** kill -9: uncommitted work is lost. */
  drop(): Promise<void>;
}

export interface ConnectionOptions {
  readonly process: Process;
  readonly now: string;
  /**
   * Receives the function that ends the connection before the connection is ready, so that a replica killed during migration leaves the
   * queue.
   */
  onDrop(drop: Connection["drop"]): void;
  /** Waits for the duration of a query. */
  pause(): Promise<void>;
  /** Changes queries and answers, to plant a mistake. */
  readonly mistake: Pick<ServiceMistake, "rewrite" | "rows" | "openWriter">;
}

interface Surroundings extends Pick<ConnectionOptions, "pause" | "mistake"> {
  readonly disk: ServiceDisk;
  readonly connections: Connections;
}

/** A dialect of the service with simulated query times, a failing disk, and hooks for mistakes. */
export function slowDialect(dialect: Dialect, surroundings: Surroundings): Dialect {
  return {
    ...dialect,
    createDriver() {
      const driver = dialect.createDriver();
      const { disk, pause, connections } = surroundings;
      const acquire = driver.acquireConnection.bind(driver);
      const commit = driver.commitTransaction.bind(driver);
      let slow: DatabaseConnection | null = null;
      driver.acquireConnection = async (options) => (slow ??= slowly(await acquire(options), surroundings));
      driver.commitTransaction = (connection) => disk.commit(connections, pause, () => commit(connection));
      return driver;
    },
  };
}

function slowly(connection: DatabaseConnection, { pause, mistake, disk }: Surroundings): DatabaseConnection {
  return {
    async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
      const sql = mistake.rewrite(query.sql);
      disk.beforeQuery();
      const result = await connection.executeQuery<Row>({ ...query, sql });
      await pause();
      return { ...result, rows: mistake.rows(query.sql, result.rows) };
    },
    streamQuery: (query, size) => connection.streamQuery(query, size),
  };
}
