import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { Kysely } from "kysely";
import type { Transaction } from "kysely";

import type { Files } from "../../platform/files.ts";
import { errorCode } from "../../platform/files.ts";
import { migrate } from "./migrations.ts";
import { NodeSqliteDialect } from "./sqlite-dialect.ts";
import type { Tables } from "./tables.ts";
import { createWriter } from "./writer.ts";

/** Queries outside a write: they see committed, durable state only. */
export type Reader = Kysely<Tables>;

/**
 * The service's memory. What `write` resolved with is on the disk.
 *
 * Everything but this file and its dialect speaks Kysely and would work the same on another database.
 */
export interface Store extends AsyncDisposable {
  readonly reader: Reader;
  /**
   * Runs `job` in a transaction. Jobs that wait together share one commit, so a job does nothing but query.
   *
   * @throws StoreUnavailableError when the disk is full, fails, or too many writes wait; nothing of the job happened then.
   */
  write<T>(job: (transaction: Transaction<Tables>) => Promise<T>): Promise<T>;
}

/** How long another process (a backup, a shell) may hold the database before a query gives up. */
const BUSY_TIMEOUT_MS = 5000;
/** What the write-ahead log is cut back to after it was long. */
const LOG_BYTES = 64 * 1024 * 1024;

/**
 * Opens the store in `directory`, which must exist, and brings its schema up to date.
 *
 * @throws where the file is no database, the disk refuses, or a newer program wrote it.
 */
export async function openStore(files: Files, directory: string): Promise<Store> {
  const path = join(directory, "service.db");
  await createPrivately(files, directory, path);
  const writing = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  const writer = new Kysely<Tables>({ dialect: new NodeSqliteDialect(writing) });
  try {
    writing.exec("pragma journal_mode = wal");
    // Without it a commit survives the process, not a power cut (sqlite.org/pragma.html#pragma_synchronous).
    writing.exec("pragma synchronous = full");
    writing.exec(`pragma journal_size_limit = ${LOG_BYTES}`);
    await migrate(writer);
    const reading = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, readOnly: true });
    const reader = new Kysely<Tables>({ dialect: new NodeSqliteDialect(reading) });
    const queue = createWriter(writer);
    return {
      reader,
      write: (job) => queue.write(job),
      async [Symbol.asyncDispose]() {
        await queue.idle();
        await reader.destroy();
        if (reading.isOpen) reading.close();
        await writer.destroy();
      },
    };
  } catch (error) {
    if (writing.isOpen) writing.close();
    throw error;
  }
}

/** SQLite gives its log the mode of its file, and its file whatever the umask says: so the file is made first. */
async function createPrivately(files: Files, directory: string, path: string): Promise<void> {
  try {
    const file = await files.createExclusive(path, 0o600);
    await file.close();
    await files.syncDirectory(directory);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}
