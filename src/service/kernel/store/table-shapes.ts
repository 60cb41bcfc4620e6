import { DatabaseSync } from "node:sqlite";

import { Kysely, sql } from "kysely";

import { migrateWithin, MIGRATION_TABLE } from "./migrator.ts";
import { nodeSqliteDialect } from "./sqlite/dialect.ts";
import type { Tables } from "./tables.ts";

/** The columns of a table, for copying it. */
export interface TableShape {
  readonly name: string;
  readonly columns: readonly string[];
  /** Columns of the primary key, in its order. */
  readonly key: readonly string[];
}

/**
 * The tables of a store migrated up to `step`, in the order of their creation: each after those it refers to. They are read from an empty
 * store in memory, so that a file cannot influence them.
 */
export async function tableShapes(step: string): Promise<readonly TableShape[]> {
  await using database = await emptyStore(step);
  const { rows } = await sql<{ readonly name: string }>`
    select name from sqlite_schema where type = 'table' and name not like 'sqlite\_%' escape '\\'
    and name <> ${MIGRATION_TABLE} order by rowid`.execute(database);
  return await Promise.all(rows.map(({ name }) => readShape(database, name)));
}

/**
 * Whether a SQLite file has exactly the tables and indexes of a store migrated up to `step`: no view in place of a table, no trigger, and
 * no table of a later step.
 *
 * @param more further tables that are allowed.
 */
export async function hasSchemaOf(database: Kysely<Tables>, step: string, more: readonly string[]): Promise<boolean> {
  await using empty = await emptyStore(step);
  const [expected, found] = [await namesIn(empty), await namesIn(database)];
  const extra = found.filter((name) => !expected.includes(name) && !more.some((table) => name === `table ${table}`));
  return extra.length === 0 && expected.every((name) => found.includes(name));
}

async function emptyStore(step: string): Promise<Kysely<Tables>> {
  const database = new Kysely<Tables>({ dialect: nodeSqliteDialect(new DatabaseSync(":memory:")) });
  await database.transaction().execute((transaction) => migrateWithin(transaction, "", { until: step }));
  return database;
}

/** `table robots`, `index robots_by_organization`: without those that SQLite and the migrator keep for themselves. */
async function namesIn(database: Kysely<Tables>): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly name: string }>`
    select type || ' ' || name as name from sqlite_schema where name not like 'sqlite\_%' escape '\\'
    and name <> ${MIGRATION_TABLE}`.execute(database);
  return rows.map(({ name }) => name);
}

async function readShape(database: Kysely<Tables>, name: string): Promise<TableShape> {
  const { rows } = await sql<{ readonly name: string; readonly pk: number }>`
    select name, pk from pragma_table_info(${name}) order by cid`.execute(database);
  const key = rows.filter(({ pk }) => pk > 0).toSorted((left, right) => left.pk - right.pk);
  return { name, columns: rows.map((column) => column.name), key: key.map((column) => column.name) };
}
