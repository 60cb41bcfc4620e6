import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from "kysely";

import { SqliteDialect } from "../../../src/service/kernel/store/sqlite/dialect.ts";
import type { ConnectionOptions } from "./database.ts";
import type { Connections, ServiceDisk } from "./service-disk.ts";

interface Surroundings extends Pick<ConnectionOptions, "pause" | "mistake"> {
  readonly disk: ServiceDisk;
  readonly connections: Connections;
}

/** A dialect of the service, with time that passes before a query is answered, a disk that fails, and room for mistakes. */
export class SlowDialect extends SqliteDialect {
  readonly #dialect: SqliteDialect;
  readonly #surroundings: Surroundings;

  constructor(dialect: SqliteDialect, surroundings: Surroundings) {
    super();
    this.#dialect = dialect;
    this.#surroundings = surroundings;
  }

  createAdapter() {
    return this.#dialect.createAdapter();
  }

  createDriver(): Driver {
    const driver = this.#dialect.createDriver();
    const { disk, pause, connections } = this.#surroundings;
    const acquire = driver.acquireConnection.bind(driver);
    const commit = driver.commitTransaction.bind(driver);
    let slow: DatabaseConnection | null = null;
    driver.acquireConnection = async (options) => (slow ??= slowly(await acquire(options), this.#surroundings));
    driver.commitTransaction = (connection) => disk.commit(connections, pause, () => commit(connection));
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
