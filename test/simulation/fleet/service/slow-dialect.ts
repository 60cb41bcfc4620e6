import type { CompiledQuery, DatabaseConnection, Dialect, QueryResult } from "kysely";

import type { Store } from "../../../../src/service/kernel/store/store.ts";
import type { Process } from "../../scheduler.ts";
import type { ServiceMistake } from "../service-mistakes.ts";
import type { Connections, ServiceDisk } from "./service-disk.ts";

export interface Connection {
  readonly store: Store;
  /** kill -9: what was not committed is gone. */
  drop(): Promise<void>;
}

export interface ConnectionOptions {
  readonly process: Process;
  readonly now: string;
  /** Told how to end the connection, before it is ready: a replica that is killed while it migrates must give up its turn. */
  onDrop(drop: Connection["drop"]): void;
  /** Lets time pass, as long as a query takes. */
  pause(): Promise<void>;
  /** Changes what queries ask and are answered, to plant a mistake. */
  readonly mistake: Pick<ServiceMistake, "rewrite" | "rows" | "openWriter">;
}

interface Surroundings extends Pick<ConnectionOptions, "pause" | "mistake"> {
  readonly disk: ServiceDisk;
  readonly connections: Connections;
}

/** A dialect of the service, with time that passes before a query is answered, a disk that fails, and room for mistakes. */
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
