import { join } from "node:path";

import { type Kysely, sql } from "kysely";

import { isoNow } from "../../../../platform/clock.ts";
import { errorCode, type Files } from "../../../../platform/files/files.ts";
import type { Problem } from "../../../../platform/terminal.ts";
import { systemReason } from "../../system-reason.ts";
import { lastStep, migrateWithin, NewerSchemaError } from "../migrator.ts";
import { lockDirectory } from "../sqlite/database.ts";
import { openSqliteFile, SQLITE_FILE } from "../sqlite/store.ts";
import { alreadyInUse, describeLocation } from "../store-problem.ts";
import type { StoreLocation } from "../store.ts";
import type { Tables } from "../tables.ts";
import { copyDatabase, type CopyMachine, type CopyOutcome, copyProblem } from "./backup.ts";
import { type CopyOptions, copyTables, hasSchemaOf } from "./copy-rows.ts";

/** A table that backups of earlier versions have. */
const EARLIER_SEAL = "backup_seal";

/**
 * Copies a backup into a new store. A missing data directory is created; a database must exist. The location must have no store, and no
 * service may run on it. The next start of a service migrates a data directory.
 *
 * @throws `options.signal.reason` when aborted; then a database is empty as before.
 */
export async function restore(
  path: string,
  location: StoreLocation,
  machine: CopyMachine,
  options: CopyOptions,
): Promise<CopyOutcome> {
  try {
    const problem = await checkFile(path, machine.files);
    if (problem !== null) return { state: "failed", problem };
    await using backup = openSqliteFile(path, { readOnly: true });
    const checked = await checkBackup(backup, path);
    if (checked.state === "failed") return checked;
    const { schema } = checked;
    const refusal =
      location.kind === "sqlite"
        ? await fillDirectory(backup, location.dataDirectory, machine.files)
        : await fillDatabase(backup, schema, location.url, machine, options);
    if (refusal !== null) return { state: "failed", problem: refusal };
    return { state: "copied", schema };
  } catch (error) {
    const problem = copyProblem(error, location, "the backup could not be put back", path);
    if (problem === null) throw error;
    return { state: "failed", problem };
  }
}

/** Whether the file can be read: SQLite reports every failure as "unable to open database file". */
async function checkFile(path: string, files: Files): Promise<Problem | null> {
  try {
    const file = await files.openForReading(path);
    try {
      // SQLite would wait for ever for the writer of a pipe.
      return (await file.stat()).kind === "file" ? null : notABackup(path, "it is no regular file");
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errorCode(error) === undefined || !(error instanceof Error)) throw error;
    return {
      code: "backup-file-unreadable",
      what: `the backup cannot be read: ${systemReason(error)}`,
      where: path,
      fix: "name a file that is there and that this user may read",
    };
  }
}

/** Whether the file is a whole backup with a known schema. */
async function checkBackup(backup: Kysely<Tables>, path: string): Promise<CopyOutcome> {
  const refused = (reason: string): CopyOutcome => ({ state: "failed", problem: notABackup(path, reason) });
  try {
    const { rows } = await sql<{ readonly integrity_check: string }>`pragma integrity_check(1)`.execute(backup);
    const finding = rows[0]?.integrity_check ?? "and cannot be checked";
    if (finding !== "ok") return refused(`it is damaged, ${finding}`);
    const schema = await lastStep(backup);
    if (schema === null) return refused("it is empty");
    if (await hasSchemaOf(backup, schema, [EARLIER_SEAL])) return { state: "copied", schema };
    return refused(`its tables are not those of the schema that it names, ${schema}`);
  } catch (error) {
    if (error instanceof NewerSchemaError) return refused(error.message);
    if (errorCode(error) === undefined || !(error instanceof Error)) throw error;
    return refused(error.message);
  }
}

function notABackup(path: string, reason: string): Problem {
  return {
    code: "not-a-backup",
    what: `the file is no backup of robot-policy-service: ${reason}`,
    where: path,
    fix: "name a file that was made by: robot-policy-service backup FILE",
  };
}

async function fillDirectory(backup: Kysely<Tables>, directory: string, files: Files): Promise<Problem | null> {
  await files.makeDirectory(directory, 0o700);
  using lock = lockDirectory(directory);
  if (lock === null) return alreadyInUse(directory);
  const path = join(directory, SQLITE_FILE);
  // SQLite would apply the log of another database, which someone removed, to the copy.
  for (const each of [path, `${path}-wal`]) {
    if ((await sizeOf(each, files)) > 0) return notEmpty(directory);
  }
  await copyDatabase(backup, path, files);
  return null;
}

async function sizeOf(path: string, files: Files): Promise<number> {
  try {
    return (await files.stat(path)).sizeBytes;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return 0;
    throw error;
  }
}

async function fillDatabase(
  backup: Kysely<Tables>,
  schema: string,
  url: string,
  { clock }: CopyMachine,
  options: CopyOptions,
): Promise<Problem | null> {
  const at = isoNow(clock);
  const { openPatiently } = await import("../postgres/store.ts");
  await using database = openPatiently(url);
  return await database.transaction().execute(async (to) => {
    // Under the migration lock, in case a service starts at the same time.
    const isNew = (await migrateWithin(to, at, { until: schema })) === 0;
    if (!isNew) return notEmpty(describeLocation({ kind: "postgres", url }));
    const reading = backup.transaction().setAccessMode("read only");
    await reading.execute((from) => copyTables(from, to, schema, options));
    await migrateWithin(to, at);
    return null;
  });
}

/** A restore would mix two stores. */
function notEmpty(where: string): Problem {
  return {
    code: "store-not-empty",
    what: "there is a store already, and a restore never overwrites one",
    where,
    fix: "name a new directory with --data, or a new empty database with --database",
  };
}
