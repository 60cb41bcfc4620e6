import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import type { Clock } from "../../../../platform/clock.ts";

/** How long a query waits for another process (a backup, a command, a shell) that holds the lock. */
export const BUSY_TIMEOUT_MS = 5000;
/** Pauses between attempts: most locks last milliseconds, the others last as long as a person keeps a shell open. */
const PAUSES_MS: readonly number[] = [1, 2, 5, 10, 20];
const LAST_PAUSE_MS = 50;
/** sqlite.org/rescode.html */
const SQLITE_BUSY = 5;

export type WaitingClock = Pick<Clock, "monotonicMs" | "sleep">;

/**
 * Calls `attempt` until it finds the database unlocked.
 *
 * @throws what `attempt` throws; the error of a locked database only after BUSY_TIMEOUT_MS.
 */
export async function retryWhileLocked(attempt: () => void, clock: WaitingClock): Promise<void> {
  const deadlineMs = clock.monotonicMs() + BUSY_TIMEOUT_MS;
  for (let attempts = 0; ; attempts += 1) {
    try {
      attempt();
      return;
    } catch (error) {
      if (!isLocked(error) || clock.monotonicMs() >= deadlineMs) throw error;
    }
    await clock.sleep(PAUSES_MS[attempts] ?? LAST_PAUSE_MS);
  }
}

/** Whether SQLite says that another connection holds the lock. */
export function isLocked(error: unknown): boolean {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return false;
  return (error.errcode & 0xff) === SQLITE_BUSY;
}

/**
 * Locks a data directory for one service. A second service on it would be a configuration mistake that nobody notices, and both would
 * stall at every commit.
 *
 * The lock is an exclusive transaction on an empty database beside the real one. The kernel releases it however the process ends. Node
 * offers no other file lock.
 *
 * @returns null while another process holds the directory.
 * @throws where the directory cannot be written.
 */
export function lockDirectory(directory: string): Disposable | null {
  const path = join(directory, "service.lock");
  // SQLite would use the umask. Who may read the file can hold the lock, and so keep the service from starting.
  closeSync(openSync(path, "a", 0o600));
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    lock.exec("begin exclusive");
  } catch (error) {
    lock.close();
    if (isLocked(error)) return null;
    throw error;
  }
  return { [Symbol.dispose]: () => lock.close() };
}

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
