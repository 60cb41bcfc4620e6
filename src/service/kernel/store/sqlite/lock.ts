import type { Clock } from "../../../../platform/clock.ts";

/** How long another process (a backup, a command, a shell) may hold the database before a query gives up. */
export const BUSY_TIMEOUT_MS = 5000;
/** Between two attempts. Such a lock is held for milliseconds, or by a person. */
const PAUSES_MS: readonly number[] = [1, 2, 5, 10, 20];
const LAST_PAUSE_MS = 50;
/** sqlite.org/rescode.html */
const SQLITE_BUSY = 5;

export type WaitingClock = Pick<Clock, "monotonicMs" | "sleep">;

/**
 * Calls `attempt` until it finds the database unlocked.
 *
 * @throws what `attempt` throws; that the database is locked, after BUSY_TIMEOUT_MS.
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
