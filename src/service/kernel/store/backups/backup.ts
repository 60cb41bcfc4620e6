import { dirname, join } from "node:path";

import { type Kysely, sql } from "kysely";

import { readBounded, removeIfPresent, replaceDurably } from "../../../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../../../platform/files/files.ts";
import type { Problem } from "../../../../platform/terminal.ts";
import type { ServiceMachine } from "../../machine.ts";
import { systemReason } from "../../system-reason.ts";
import { lastStep } from "../migrator.ts";
import { holdsSqliteStore, openSqliteReader } from "../sqlite/store.ts";
import { noStore, storeProblem } from "../store-problem.ts";
import type { StoreLocation } from "../store.ts";
import type { Tables } from "../tables.ts";

/** The result of a backup or restore. `schema`: the last step of the store's schema. */
export type CopyOutcome =
  | { readonly state: "copied"; readonly schema: string }
  | { readonly state: "failed"; readonly problem: Problem };

export type CopyMachine = Pick<ServiceMachine, "clock" | "files">;

const COPY_MODE = 0o600;

/**
 * Writes the store, as it is at one moment, into the SQLite file `path`, which must not exist. Services on the store keep running.
 *
 * An empty file reserves the name at once; the complete, durable backup then replaces it.
 */
export async function backUp(location: StoreLocation, path: string, { files }: CopyMachine): Promise<CopyOutcome> {
  if (location.kind === "postgres") return { state: "failed", problem: BY_PG_DUMP };
  try {
    if (!(await holdsSqliteStore(files, location.dataDirectory))) {
      return { state: "failed", problem: noStore(location) };
    }
    await using source = openSqliteReader(location.dataDirectory);
    const schema = await lastStep(source);
    if (schema === null) return { state: "failed", problem: noStore(location) };
    const problem = await reserve(files, path);
    if (problem !== null) return { state: "failed", problem };
    try {
      await copyDatabase(source, path, files);
    } catch (error) {
      await removeIfPresent(files, path);
      throw error;
    }
    return { state: "copied", schema };
  } catch (error) {
    const problem = copyProblem(error, location, "the backup could not be made", path);
    if (problem === null) throw error;
    return { state: "failed", problem };
  }
}

const BY_PG_DUMP: Problem = {
  code: "backup-by-pg-dump",
  what: "a PostgreSQL database is backed up by its own programs",
  fix: "run: pg_dump --format=custom --file=FILE URL; pg_restore puts it back",
};

/** Writes a durable copy of a SQLite database, as it is at one moment, in place of an empty file or none. Nothing is left after an error. */
export async function copyDatabase(source: Kysely<Tables>, path: string, files: Files): Promise<void> {
  const temporary = `${path}.new`;
  await removeIfPresent(files, temporary);
  const file = await files.createExclusive(temporary, COPY_MODE);
  try {
    try {
      // Reads one snapshot, beside any writers (sqlite.org/lang_vacuum.html#vacuuminto).
      await sql`vacuum into ${temporary}`.execute(source);
      await file.sync();
    } finally {
      await file.close();
    }
    await files.rename(temporary, path);
    await files.syncDirectory(dirname(path));
  } catch (error) {
    await removeIfPresent(files, temporary);
    throw error;
  }
}

/** Creates the file of a backup. @throws a bug. */
async function reserve(files: Files, path: string): Promise<Problem | null> {
  try {
    await (await files.createExclusive(path, COPY_MODE)).close();
    return null;
  } catch (error) {
    if (errorCode(error) === "EEXIST") {
      return {
        code: "backup-exists",
        what: "there is a file of that name, and a backup never replaces one",
        where: path,
        fix: "choose another name, for example with the date in it, or move the file away",
      };
    }
    if (errorCode(error) === undefined || !(error instanceof Error)) throw error;
    return {
      code: "backup-file-unusable",
      what: `the backup cannot be written there: ${systemReason(error)}`,
      where: path,
      fix: "name a file in a directory that exists and that this user can write to",
    };
  }
}

/** Why copying between a store and a backup file failed; null for a bug. The copy has been removed. */
export function copyProblem(error: unknown, location: StoreLocation, what: string, path: string): Problem | null {
  // With SQLite on both sides, an error does not say which side failed.
  if (errorCode(error) === "ERR_SQLITE_ERROR" && error instanceof Error) {
    return {
      code: "copy-failed",
      what: `${what}: ${error.message}`,
      where: path,
      fix: "make sure that the file can be read, and that its disk and that of the store have room",
    };
  }
  return storeProblem(error, location);
}

/** When the last backup of a data directory was made: the command notes it, the running service tells it in its metrics. */
const NOTE = "last-backup";
/** Root may make the backup, and the service's own user read this. It holds a time alone. */
const NOTE_MODE = 0o644;
const NOTE_LIMIT_BYTES = 64;

export async function noteBackup(files: Files, dataDirectory: string, at: string): Promise<void> {
  await replaceDurably(files, join(dataDirectory, NOTE), Buffer.from(`${at}\n`), NOTE_MODE);
}

/** In seconds since the Unix epoch; 0 if there was none. @throws Node system errors. */
export async function lastBackupS(files: Files, dataDirectory: string): Promise<number> {
  try {
    const bytes = await readBounded(files, join(dataDirectory, NOTE), NOTE_LIMIT_BYTES);
    const atMs = bytes === "too-large" ? Number.NaN : Date.parse(Buffer.from(bytes).toString().trim());
    return Number.isNaN(atMs) ? 0 : atMs / 1000;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return 0;
    throw error;
  }
}
