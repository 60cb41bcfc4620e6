import type { DatabaseSync } from "node:sqlite";

import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from "kysely";

import { NodeSqliteDialect } from "../../../src/service/store/sqlite-dialect.ts";
import type { ConnectionOptions } from "./database.ts";
import type { ServiceDisk } from "./service-disk.ts";

interface Surroundings extends Pick<ConnectionOptions, "pause" | "mistake"> {
  readonly disk: ServiceDisk;
}

/** The dialect of the service, with time that passes before a query is answered, a disk that fails, and room for mistakes. */
export class SlowDialect extends NodeSqliteDialect {
  readonly #database: DatabaseSync;
  readonly #surroundings: Surroundings;

  constructor(database: DatabaseSync, surroundings: Surroundings) {
    super(database);
    this.#database = database;
    this.#surroundings = surroundings;
  }

  override createDriver(): Driver {
    const driver = super.createDriver();
    const database = this.#database;
    const { disk, pause } = this.#surroundings;
    const acquire = driver.acquireConnection.bind(driver);
    const commit = driver.commitTransaction.bind(driver);
    const destroy = driver.destroy.bind(driver);
    let slow: DatabaseConnection | null = null;
    driver.acquireConnection = async (options) => (slow ??= slowly(await acquire(options), this.#surroundings));
    driver.commitTransaction = (connection) => disk.commit(database, pause, () => commit(connection));
    driver.destroy = async () => {
      // A power cut has closed it.
      if (database.isOpen) await destroy();
    };
    return driver;
  }
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
