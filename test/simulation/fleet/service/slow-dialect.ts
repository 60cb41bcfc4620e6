import type { CompiledQuery, DatabaseConnection, Dialect, Driver, QueryResult } from "kysely";

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

/** The turn of a connection to write. */
export interface WriterTurns {
  begin(): Promise<void>;
  end(): void;
}

interface Surroundings extends Pick<ConnectionOptions, "pause" | "mistake"> {
  readonly disk: ServiceDisk;
  readonly connections: Connections;
  /** Missing for a connection that does not write in turn. */
  readonly turns?: WriterTurns | undefined;
}

/** A dialect of the service with simulated query times, a failing disk, and hooks for mistakes. */
export function slowDialect(dialect: Dialect, surroundings: Surroundings): Dialect {
  return {
    ...dialect,
    createDriver() {
      const driver = dialect.createDriver();
      const { disk, pause, connections, turns } = surroundings;
      const acquire = driver.acquireConnection.bind(driver);
      const commit = driver.commitTransaction.bind(driver);
      let slow: DatabaseConnection | null = null;
      driver.acquireConnection = async (options) => (slow ??= slowly(await acquire(options), surroundings));
      driver.commitTransaction = (connection) => disk.commit(connections, pause, () => commit(connection));
      if (turns !== undefined) takeTurns(driver, turns, pause);
      return driver;
    },
  };
}

/** Transactions wait for their turn, and time passes between a commit and its acknowledgement. */
function takeTurns(driver: Driver, turns: WriterTurns, pause: () => Promise<void>): void {
  const begin = driver.beginTransaction.bind(driver);
  const commit = driver.commitTransaction.bind(driver);
  const rollback = driver.rollbackTransaction.bind(driver);
  let hasTurn = false;
  const end = () => {
    if (hasTurn) turns.end();
    hasTurn = false;
  };
  driver.beginTransaction = async (...parameters) => {
    await turns.begin();
    hasTurn = true;
    try {
      await begin(...parameters);
    } catch (error) {
      end();
      throw error;
    }
  };
  driver.commitTransaction = async (connection) => {
    await commit(connection);
    end();
    await pause();
  };
  driver.rollbackTransaction = async (connection) => {
    try {
      await rollback(connection);
    } finally {
      end();
    }
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
