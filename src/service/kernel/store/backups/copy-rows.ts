import { DatabaseSync } from "node:sqlite";

import { Kysely, type RawBuilder, sql } from "kysely";

import { MIGRATION_TABLE, migrateWithin } from "../migrator.ts";
import { nodeSqliteDialect } from "../sqlite/dialect.ts";
import type { Tables, Transaction } from "../tables.ts";

export interface CopyOptions {
  /** Called regularly with the current table and the fraction of all rows that is done, 0…1. */
  readonly onProgress: (table: string, fraction: number) => void;
  readonly signal: AbortSignal;
}

/** Rows in memory at a time; the largest hold a contract of up to a mebibyte. */
const ROWS_AT_ONCE = 100;

type Row = Readonly<Record<string, unknown>>;

/**
 * Copies all rows from a backup to a database whose tables are empty.
 *
 * @param schema the last step of both.
 * @throws what either database throws; `signal.reason` when it was aborted.
 */
export async function copyTables(
  from: Transaction,
  to: Transaction,
  schema: string,
  { onProgress, signal }: CopyOptions,
): Promise<void> {
  const shapes = await tableShapes(schema);
  const counts = await Promise.all(shapes.map((shape) => countRows(from, shape)));
  const total = counts.reduce((sum, count) => sum + count, 0);
  let done = 0;
  for (const shape of shapes) {
    for await (const rows of readRows(from, shape)) {
      signal.throwIfAborted();
      await insertRows(to, shape, rows);
      done += rows.length;
      onProgress(shape.name, Math.min(1, done / total));
    }
  }
}

async function countRows(from: Transaction, { name }: TableShape): Promise<number> {
  const { rows } = await sql<{ readonly count: number }>`select count(*) as count from ${sql.table(name)}`.execute(
    from,
  );
  return rows[0]?.count ?? 0;
}

/** Pages of a table in the order of its key. */
async function* readRows(from: Transaction, { name, columns, key }: TableShape): AsyncIterable<readonly Row[]> {
  const order = list(key.map((column) => sql.ref(column)));
  let beyond = sql``;
  for (;;) {
    const { rows } = await sql<Row>`select ${list(columns.map((column) => sql.ref(column)))} from ${sql.table(name)}
      ${beyond} order by ${order} limit ${ROWS_AT_ONCE}`.execute(from);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    beyond = sql`where (${order}) > (${list(key.map((column) => sql`${last[column]}`))})`;
  }
}

async function insertRows(to: Transaction, { name, columns }: TableShape, rows: readonly Row[]): Promise<void> {
  const names = list(columns.map((column) => sql.ref(column)));
  const values = rows.map((row) => sql`(${list(columns.map((column) => sql`${row[column]}`))})`);
  await sql`insert into ${sql.table(name)} (${names}) values ${list(values)}`.execute(to);
}

function list(parts: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql.join([...parts]);
}

/** The columns of a table, for copying it. */
interface TableShape {
  readonly name: string;
  readonly columns: readonly string[];
  /** Columns of the primary key, in its order. */
  readonly key: readonly string[];
}

/**
 * The tables of a store migrated up to `step`, in the order of their creation: each after those it refers to. They are read from an empty
 * store in memory, so that a file cannot influence them.
 */
async function tableShapes(step: string): Promise<readonly TableShape[]> {
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
