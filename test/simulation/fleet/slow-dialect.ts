import type { DatabaseSync } from "node:sqlite";

import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from "kysely";

import { NodeSqliteDialect } from "../../../src/service/store/sqlite-dialect.ts";
import type { ConnectionOptions } from "./database.ts";

type Surroundings = Pick<ConnectionOptions, "pause" | "mistake">;

/** The dialect of the service, with time that passes before a query is answered, and room for mistakes. */
export class SlowDialect extends NodeSqliteDialect {
  readonly #surroundings: Surroundings;

  constructor(database: DatabaseSync, surroundings: Surroundings) {
    super(database);
    this.#surroundings = surroundings;
  }

  override createDriver(): Driver {
    const driver = super.createDriver();
    const acquire = driver.acquireConnection.bind(driver);
    let slow: DatabaseConnection | null = null;
    driver.acquireConnection = async (options) => (slow ??= slowly(await acquire(options), this.#surroundings));
    return driver;
  }
}

function slowly(connection: DatabaseConnection, { pause, mistake }: Surroundings): DatabaseConnection {
  return {
    async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
      const sql = mistake.rewrite(query.sql);
      const result = await connection.executeQuery<Row>({ ...query, sql });
      await pause();
      return { ...result, rows: mistake.rows(query.sql, result.rows) };
    },
    streamQuery: (query, size) => connection.streamQuery(query, size),
  };
}
