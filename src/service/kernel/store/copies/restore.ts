import { type Kysely, sql } from "kysely";

import { isoNow } from "../../../../platform/clock.ts";
import { errorCode } from "../../../../platform/files/files.ts";
import type { Problem } from "../../../../platform/terminal.ts";
import { lastStep, migrateWithin, MIGRATION_TABLE, NewerSchemaError } from "../migrator.ts";
import { lockDirectory } from "../sqlite/lock.ts";
import { openSqliteFile, openSqliteWriter } from "../sqlite/store.ts";
import { alreadyInUse, describeLocation } from "../store-problem.ts";
import type { StoreLocation } from "../store.ts";
import { hasSchemaOf, type TableShape, tableShapes } from "../table-shapes.ts";
import type { Tables, Transaction } from "../tables.ts";
import { isSealIntact, SEAL_TABLE } from "./backup-seal.ts";
import { backupUnreadable, copyProblem, notABackup, notEmpty } from "./copy-problem.ts";
import { type CopyMachine, type CopyOptions, type CopyOutcome, copyTables, type RowCounts } from "./copy.ts";

/**
 * Copies a backup into a new store in one transaction, and migrates it. A missing data directory is created; a database must exist. The
 * location must have no store or an empty one, and no service may run on it.
 *
 * @throws `signal.reason` when aborted; then the store is empty as before.
 */
export async function restore(
  path: string,
  location: StoreLocation,
  machine: CopyMachine,
  options: CopyOptions,
): Promise<CopyOutcome> {
  try {
    const checked = await checkBackup(path, machine, options.signal);
    if (checked.state === "refused") return { state: "failed", problem: checked.problem };
    const { schema } = checked;
    const target = await openTarget(location, machine);
    if (target === null) return { state: "failed", problem: inUse(location) };
    await using resources = target;
    const rows = await fill({ location, database: resources.database }, path, schema, machine, options);
    if (rows === null) return { state: "failed", problem: notEmpty(describeLocation(location)) };
    return { state: "copied", schema, rows };
  } catch (error) {
    const problem = copyProblem(error, location, "the backup could not be put back", path);
    if (problem === null) throw error;
    return { state: "failed", problem };
  }
}

type CheckedBackup =
  | { readonly state: "sound"; readonly schema: string }
  | { readonly state: "refused"; readonly problem: Problem };

/** Whether the file is a complete backup with a known schema. */
async function checkBackup(path: string, { files }: CopyMachine, signal: AbortSignal): Promise<CheckedBackup> {
  const refuse = (reason: string): CheckedBackup => ({ state: "refused", problem: notABackup(path, reason) });
  try {
    // Read first: SQLite reports every failure as "unable to open database file".
    const file = await files.openForReading(path);
    try {
      // SQLite would wait for ever for the writer of a pipe.
      if ((await file.stat()).kind !== "file") return refuse("it is no regular file");
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errorCode(error) === undefined || !(error instanceof Error)) throw error;
    return { state: "refused", problem: backupUnreadable(path, error) };
  }
  try {
    await using database = openSqliteFile(path, { readOnly: true });
    const { rows } = await sql<{ readonly quick_check: string }>`pragma quick_check(1)`.execute(database);
    const [finding] = rows;
    if (finding?.quick_check !== "ok")
      return refuse(`it is damaged, ${finding?.quick_check ?? "and cannot be checked"}`);
    const schema = await lastStep(database);
    if (schema === null) return refuse("it is empty");
    if (!(await hasSchemaOf(database, schema, [SEAL_TABLE]))) {
      return refuse(`its tables are not those of the schema that it names, ${schema}`);
    }
    const shapes = await tableShapes(schema);
    const isIntact = await database
      .transaction()
      .setAccessMode("read only")
      .execute((backup) => isSealIntact(backup, shapes, schema, signal));
    return isIntact ? { state: "sound", schema } : refuse("it is damaged, its content is not what was backed up");
  } catch (error) {
    if (error instanceof NewerSchemaError) return refuse(error.message);
    if (errorCode(error) === undefined || !(error instanceof Error)) throw error;
    return refuse(error.message);
  }
}

interface Target extends AsyncDisposable {
  readonly database: Kysely<Tables>;
}

/** Opens the target of the restore; null while a service runs on it. */
async function openTarget(location: StoreLocation, { clock, files }: CopyMachine): Promise<Target | null> {
  switch (location.kind) {
    case "sqlite": {
      await files.makeDirectory(location.dataDirectory, 0o700);
      const lock = lockDirectory(location.dataDirectory);
      if (lock === null) return null;
      const resources = new AsyncDisposableStack();
      resources.use(lock);
      try {
        const database = resources.use(await openSqliteWriter(location.dataDirectory, files));
        return { database, [Symbol.asyncDispose]: () => resources.disposeAsync() };
      } catch (error) {
        await resources.disposeAsync();
        throw error;
      }
    }
    case "postgres": {
      const { openPatiently } = await import("../postgres/store.ts");
      const database = openPatiently(location.url, clock);
      return { database, [Symbol.asyncDispose]: () => database.destroy() };
    }
  }
}

function inUse(location: StoreLocation): Problem {
  return alreadyInUse(describeLocation(location));
}

/** @returns null when the store is not empty. */
async function fill(
  { location, database }: { readonly location: StoreLocation; readonly database: Kysely<Tables> },
  path: string,
  schema: string,
  { clock }: CopyMachine,
  options: CopyOptions,
): Promise<RowCounts | null> {
  const at = isoNow(clock);
  const shapes = await tableShapes(schema);
  await using source = openSqliteFile(path, { readOnly: true });
  return await database.transaction().execute(async (to) => {
    // Before any change, and under the migration lock, in case a service starts at the same time.
    const present = await lastStep(to);
    if (present !== null && !(await removeEmpty(to, await tableShapes(present), location))) return null;
    if ((await migrateWithin(to, at, { until: schema })) > 0) return null;
    const rows = await source
      .transaction()
      .setAccessMode("read only")
      .execute((from) => copyTables(from, to, shapes, options));
    await migrateWithin(to, at);
    return rows;
  });
}

/** Removes an empty store, whose schema may differ from the backup's. @returns false when it is not empty. */
async function removeEmpty(to: Transaction, shapes: readonly TableShape[], { kind }: StoreLocation): Promise<boolean> {
  const isEmpty = async () => {
    for (const { name } of shapes) {
      const { rows } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(to);
      if (rows.length > 0) return false;
    }
    return true;
  };
  if (!(await isEmpty())) return false;
  if (kind === "postgres") {
    // A service may be about to write the first row.
    await sql`lock table ${sql.join(shapes.map(({ name }) => sql.table(name)))} in access exclusive mode`.execute(to);
    if (!(await isEmpty())) return false;
  }
  for (const { name } of shapes.toReversed()) await sql`drop table ${sql.table(name)}`.execute(to);
  await sql`drop table ${sql.table(MIGRATION_TABLE)}`.execute(to);
  return true;
}
