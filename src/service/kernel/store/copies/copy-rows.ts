import { setImmediate } from "node:timers/promises";

import { type CompiledQuery, type RawBuilder, sql } from "kysely";

import type { TableShape } from "../table-shapes.ts";
import type { Transaction } from "../tables.ts";

export interface CopyOptions {
  /** Called regularly with the current table and the fraction of all rows that is done, 0…1. */
  readonly onProgress: (table: string, fraction: number) => void;
  readonly signal: AbortSignal;
}

/** Rows in memory at a time; the largest hold a contract of up to a mebibyte. */
const ROWS_AT_ONCE = 100;

type Row = Readonly<Record<string, unknown>>;

/**
 * Copies all rows of these tables from a backup to a database whose tables are empty.
 *
 * @throws what either database throws; `signal.reason` when it was aborted.
 */
export async function copyTables(
  from: Transaction,
  to: Transaction,
  shapes: readonly TableShape[],
  { onProgress, signal }: CopyOptions,
): Promise<void> {
  const counts = await Promise.all(shapes.map((shape) => countRows(from, shape)));
  const total = counts.reduce((sum, count) => sum + count, 0);
  let done = 0;
  for (const shape of shapes) {
    const insert = createInsert(to, shape);
    for await (const rows of readRows(from, shape)) {
      signal.throwIfAborted();
      await insert(rows);
      done += rows.length;
      onProgress(shape.name, Math.min(1, done / total));
      // SQLite does not wait for anything; without this turn of the event loop no signal would be handled.
      await setImmediate();
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

/** Inserts rows, at most `ROWS_AT_ONCE`. Compiled once for as many: Kysely takes as long to compile the statement as SQLite to run it. */
function createInsert(to: Transaction, { name, columns }: TableShape): (rows: readonly Row[]) => Promise<void> {
  const names = list(columns.map((column) => sql.ref(column)));
  const valuesOf = (row: Row) => columns.map((column) => row[column]);
  const compile = (rows: readonly Row[]) => {
    const values = rows.map((row) => sql`(${list(valuesOf(row).map((value) => sql`${value}`))})`);
    return sql`insert into ${sql.table(name)} (${names}) values ${list(values)}`.compile(to);
  };
  let full: CompiledQuery | undefined;
  return async (rows) => {
    const insert = rows.length < ROWS_AT_ONCE ? compile(rows) : (full ??= compile(rows));
    await to.executeQuery({ ...insert, parameters: rows.flatMap(valuesOf) });
  };
}

function list(parts: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql.join([...parts]);
}
