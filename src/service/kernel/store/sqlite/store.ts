import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { CompiledQuery, Kysely, sql } from "kysely";

import { isoNow } from "../../../../platform/clock.ts";
import { errorCode, type Files } from "../../../../platform/files/files.ts";
import type { migrate } from "../migrator.ts";
import type { Store, StoreLocation, StoreMachine } from "../store.ts";
import type { Tables } from "../tables.ts";
import { nodeSqliteDialect } from "./dialect.ts";
import { BUSY_TIMEOUT_MS, openDatabase } from "./database.ts";
import { commitInThread, recordingDialect } from "./recording.ts";
import { sqliteThreadsDialect } from "./threads.ts";
import { createWriter } from "./writer.ts";

/** Name of the database file in a data directory; SQLite keeps its log beside it. */
export const SQLITE_FILE = "service.db";

/**
 * Opens the store in a data directory, which must exist, and brings its schema up to date.
 *
 * Writes and lookups run in the caller's thread: each of their statements takes microseconds, and a round trip to another thread
 * takes longer than most. Nothing blocks a service for long: it waits asynchronously for locks of other processes (dialect.ts); a
 * commit, which waits for the disk, goes to a thread in one message (recording.ts); and queries of any size run in threads. A command has
 * no such threads (`readerThreads` is 0), and waits for its disk itself.
 *
 * @throws when the file is not a database, the disk fails, or a newer version of the program wrote it.
 */
export async function openSqliteStore(
  { dataDirectory: directory, readerThreads = 0 }: Extract<StoreLocation, { readonly kind: "sqlite" }>,
  { files, clock }: StoreMachine,
  prepare: typeof migrate,
): Promise<Store> {
  await using opening = new AsyncDisposableStack();
  const path = join(directory, SQLITE_FILE);
  await createPrivately(files, directory, path);
  const database = opening.use(openDatabase(path));
  const inThisThread = new Kysely<Tables>({ dialect: nodeSqliteDialect(database, clock) });
  await prepare(inThisThread, isoNow(clock));
  let writer = inThisThread;
  if (readerThreads > 0) {
    const committer = opening.use(await commitInThread(path));
    writer = opening.use(new Kysely<Tables>({ dialect: recordingDialect(database, committer, clock) }));
  }
  const lookup = opening.use(openSqliteReader(directory));
  const reader = readerThreads === 0 ? lookup : opening.use(openReaderThreads(directory, readerThreads));
  // Kysely closes only what it has used.
  await sql`select 1`.execute(lookup);
  // Starts the threads before the first request.
  await Promise.all(Array.from({ length: readerThreads }, () => sql`select 1`.execute(reader)));
  const queue = createWriter(writer, clock);
  opening.defer(() => queue.idle());
  const resources = opening.move();
  return {
    reader,
    lookup,
    write: (job) => queue.write(job),
    version: () => dataVersion(lookup),
    probe: async () => void (await sql`select 1`.execute(reader)),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Counts the commits of all other connections (sqlite.org/pragma.html#pragma_data_version); `lookup` commits nothing itself. */
async function dataVersion(lookup: Kysely<Tables>): Promise<string> {
  const { rows } = await lookup.executeQuery<{ readonly data_version: number }>(DATA_VERSION);
  const version = rows[0]?.data_version;
  if (version === undefined) throw new Error("SQLite named no data version");
  return String(version);
}

const DATA_VERSION = CompiledQuery.raw("pragma data_version");

function openReaderThreads(directory: string, threads: number): Kysely<Tables> {
  const path = join(directory, SQLITE_FILE);
  return new Kysely<Tables>({ dialect: sqliteThreadsDialect(path, threads) });
}

/** Opens the database in `directory` read-only. */
export function openSqliteReader(directory: string): Kysely<Tables> {
  return openSqliteFile(join(directory, SQLITE_FILE), { readOnly: true });
}

/** Opens an existing database file. */
export function openSqliteFile(path: string, { readOnly }: { readonly readOnly: boolean }): Kysely<Tables> {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, readOnly });
  return new Kysely<Tables>({ dialect: nodeSqliteDialect(database) });
}

/**
 * Whether the directory exists and holds a database.
 *
 * @throws when this user lacks permission.
 */
export async function holdsSqliteStore(files: Files, directory: string): Promise<boolean> {
  try {
    await files.stat(join(directory, SQLITE_FILE));
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return false;
    throw error;
  }
}

/** Creates the file with its mode first: SQLite would use the umask, and gives its log the mode of the file. */
async function createPrivately(files: Files, directory: string, path: string): Promise<void> {
  try {
    const file = await files.createExclusive(path, 0o600);
    await file.close();
    await files.syncDirectory(directory);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}
