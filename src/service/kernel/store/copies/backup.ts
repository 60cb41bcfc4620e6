import { dirname } from "node:path";

import { type Kysely, sql } from "kysely";

import { isoNow } from "../../../../platform/clock.ts";
import { removeIfPresent } from "../../../../platform/files/durable-file.ts";
import { lastStep, migrateWithin } from "../migrator.ts";
import { holdsSqliteStore, openSqliteFile, openSqliteReader } from "../sqlite/store.ts";
import { noStore } from "../store-problem.ts";
import { readSnapshot, type StoreLocation } from "../store.ts";
import { tableShapes } from "../table-shapes.ts";
import type { Tables } from "../tables.ts";
import { sealBackup } from "./backup-seal.ts";
import { claimProblem, copyProblem } from "./copy-problem.ts";
import { type CopyMachine, type CopyOptions, type CopyOutcome, copyTables } from "./copy.ts";

const BACKUP_MODE = 0o600;

/**
 * Writes a consistent snapshot of the store into the SQLite file `path`, which must not exist. Services on the store keep running. The
 * file has the schema of the store, even if this program has a newer one.
 *
 * An empty file reserves the name at once; the complete, durable backup then replaces it.
 *
 * @throws `signal.reason` when aborted; then no file is left.
 */
export async function backUp(
  location: StoreLocation,
  path: string,
  machine: CopyMachine,
  options: CopyOptions,
): Promise<CopyOutcome> {
  const { files, random } = machine;
  try {
    if (location.kind === "sqlite" && !(await holdsSqliteStore(files, location.dataDirectory))) {
      return { state: "failed", problem: noStore(location) };
    }
  } catch (error) {
    return failed(error, location, path);
  }
  const temporary = `${path}.${Buffer.from(random.bytes(6)).toString("hex")}.new`;
  try {
    await (await files.createExclusive(path, BACKUP_MODE)).close();
  } catch (error) {
    return { state: "failed", problem: claimProblem(error, path) };
  }
  const removeAll = async () => {
    for (const each of [temporary, path]) await removeIfPresent(files, each);
  };
  try {
    const outcome = await writeDurably(temporary, machine, (to) => copyInto(location, to, machine, options));
    if (outcome.state === "failed") {
      await removeAll();
      return outcome;
    }
    await files.rename(temporary, path);
    await files.syncDirectory(dirname(path));
    return outcome;
  } catch (error) {
    await removeAll();
    return failed(error, location, path);
  }
}

/** @throws a bug. */
function failed(error: unknown, location: StoreLocation, path: string): CopyOutcome {
  const problem = copyProblem(error, location, "the backup could not be made", path);
  if (problem === null) throw error;
  return { state: "failed", problem };
}

/** Fills a new database without durability, and syncs it once at the end. */
async function writeDurably<T>(
  path: string,
  { files }: CopyMachine,
  fill: (database: Kysely<Tables>) => Promise<T>,
): Promise<T> {
  const file = await files.createExclusive(path, BACKUP_MODE);
  try {
    let filled;
    {
      await using database = openSqliteFile(path, { readOnly: false });
      await sql`pragma journal_mode = memory`.execute(database);
      await sql`pragma synchronous = off`.execute(database);
      filled = await fill(database);
    }
    await file.sync();
    return filled;
  } finally {
    await file.close();
  }
}

async function copyInto(
  location: StoreLocation,
  to: Kysely<Tables>,
  machine: CopyMachine,
  options: CopyOptions,
): Promise<CopyOutcome> {
  const at = isoNow(machine.clock);
  await using reader = await openSource(location, machine);
  return await readSnapshot(reader, async (source): Promise<CopyOutcome> => {
    const schema = await lastStep(source);
    if (schema === null) return { state: "failed", problem: noStore(location) };
    const shapes = await tableShapes(schema);
    const rows = await to.transaction().execute(async (target) => {
      await migrateWithin(target, at, { until: schema });
      const counts = await copyTables(source, target, shapes, options);
      await sealBackup(target, shapes, schema, options.signal);
      return counts;
    });
    return { state: "copied", schema, rows };
  });
}

async function openSource(location: StoreLocation, { clock }: CopyMachine): Promise<Kysely<Tables>> {
  switch (location.kind) {
    case "sqlite":
      return openSqliteReader(location.dataDirectory);
    case "postgres": {
      const { openPatiently } = await import("../postgres/store.ts");
      return openPatiently(location.url, clock);
    }
  }
}
