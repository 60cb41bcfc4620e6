import { DatabaseSync } from "node:sqlite";

import { BUSY_TIMEOUT_MS } from "./lock.ts";

/** What the write-ahead log is cut back to after it was long. */
const LOG_BYTES = 64 * 1024 * 1024;
/** Pages of the log before they are copied to where they belong: each only as it was last, so fewer the more they are. */
const LOG_PAGES = 4000;

/** A connection whose commits are on the disk. */
export function openDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    database.exec("pragma journal_mode = wal");
    // Without it a commit survives the process, not a power cut (sqlite.org/pragma.html#pragma_synchronous).
    database.exec("pragma synchronous = full");
    database.exec(`pragma journal_size_limit = ${LOG_BYTES}`);
    database.exec(`pragma wal_autocheckpoint = ${LOG_PAGES}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
