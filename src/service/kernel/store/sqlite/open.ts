import { DatabaseSync } from "node:sqlite";

import { BUSY_TIMEOUT_MS } from "./lock.ts";

/** Size to which SQLite truncates a long write-ahead log. */
const LOG_BYTES = 64 * 1024 * 1024;
/** Pages in the write-ahead log before a checkpoint. A longer log saves writes: of each page only the last version is copied. */
const LOG_PAGES = 4000;

/** Opens a connection whose commits are durable. */
export function openDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    database.exec("pragma journal_mode = wal");
    // Without it a commit survives the end of the process, but not a power cut (sqlite.org/pragma.html#pragma_synchronous).
    database.exec("pragma synchronous = full");
    database.exec(`pragma journal_size_limit = ${LOG_BYTES}`);
    database.exec(`pragma wal_autocheckpoint = ${LOG_PAGES}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
