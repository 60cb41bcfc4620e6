import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";

import { sql } from "kysely";

import type { TableShape } from "../table-shapes.ts";
import type { Transaction } from "../tables.ts";
import { readRows } from "./copy.ts";

/** A table that only backups have: one row with the digest of all other rows. SQLite itself does not detect changed content on the disk. */
export const SEAL_TABLE = "backup_seal";

/** Writes the digest of its rows into a backup, so that damage is detected. */
export async function sealBackup(
  backup: Transaction,
  shapes: readonly TableShape[],
  schema: string,
  signal: AbortSignal,
): Promise<void> {
  const digest = await digestOf(backup, shapes, schema, signal);
  await sql`create table ${sql.table(SEAL_TABLE)} (sha256 text not null)`.execute(backup);
  await sql`insert into ${sql.table(SEAL_TABLE)} values (${digest})`.execute(backup);
}

/** Whether a backup is unchanged. */
export async function isSealIntact(
  backup: Transaction,
  shapes: readonly TableShape[],
  schema: string,
  signal: AbortSignal,
): Promise<boolean> {
  const tables = await sql`select 1 from sqlite_schema where type = 'table' and name = ${SEAL_TABLE}`.execute(backup);
  if (tables.rows.length === 0) return false;
  const { rows } = await sql<{ readonly sha256: string }>`select sha256 from ${sql.table(SEAL_TABLE)}`.execute(backup);
  return rows[0]?.sha256 === (await digestOf(backup, shapes, schema, signal));
}

async function digestOf(
  backup: Transaction,
  shapes: readonly TableShape[],
  schema: string,
  signal: AbortSignal,
): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify([schema]));
  for (const shape of shapes) {
    hash.update(JSON.stringify([shape.name, shape.columns]));
    for await (const rows of readRows(backup, shape)) {
      signal.throwIfAborted();
      for (const row of rows) hash.update(JSON.stringify(shape.columns.map((column) => row[column])));
      // SQLite does not wait for anything; without this turn of the event loop no signal would be handled.
      await setImmediate();
    }
  }
  return hash.digest("hex");
}
