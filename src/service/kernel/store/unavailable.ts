import { errorCode } from "../../../platform/files/files.ts";

/**
 * The store cannot do this now; the same request may succeed later.
 *
 * Nothing of it happened, or, where the connection to the database was lost during a commit, all of it: nobody knows. The
 * client asks again.
 */
export class StoreUnavailableError extends Error {}

/** Too much waits for the store already, of who asks or of all: a limit of the service, not a failure of the database. */
export class StoreBusyError extends StoreUnavailableError {}

/**
 * Primary result codes of SQLite that speak of the machine, not of the query (sqlite.org/rescode.html):
 * PERM 3, BUSY 5, LOCKED 6, NOMEM 7, READONLY 8, IOERR 10, CORRUPT 11, FULL 13, CANTOPEN 14, NOTADB 26.
 */
const SQLITE_FAILURES: ReadonlySet<number> = new Set([3, 5, 6, 7, 8, 10, 11, 13, 14, 26]);

/**
 * Classes of SQLSTATE that do the same (postgresql.org/docs/current/errcodes-appendix.html): connection, invalid
 * authorization, invalid catalog name, insufficient resources such as disk and memory, operator intervention such as a
 * shutdown or a timeout, system error, internal error such as corrupted data.
 */
const POSTGRES_FAILURE_CLASSES: ReadonlySet<string> = new Set(["08", "28", "3D", "53", "57", "58", "XX"]);

/** Transactions that stood in each other's way: serialization failure, deadlock. */
const CONFLICTS: ReadonlySet<string> = new Set(["40001", "40P01"]);

/** A lock was not to be had in time. */
const LOCK_TIMEOUT = "55P03";

/** What one query may have asked too much of: time (57014, also where an operator ended it), or memory, disk and the like (53). */
const LIMITS: readonly string[] = ["57014", "53"];

/** Of other classes: a standby is read-only, the privilege was taken away. */
const POSTGRES_FAILURES: ReadonlySet<string> = new Set(["25006", "42501", LOCK_TIMEOUT, ...CONFLICTS]);

/** What was prepared on this connection is gone, or was for another schema. */
const STALE_STATEMENTS: ReadonlySet<string> = new Set(["26000", "0A000"]);

/** The error as the rest of the service should see it. */
export function unavailable(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StoreUnavailableError) return error;
  return isMachineFailure(error) ? new StoreUnavailableError(error.message, { cause: error }) : error;
}

/** Whether PostgreSQL answered that it would not, on a connection that is as good as before. */
export function isRefusal(error: unknown): boolean {
  const code = sqlState(error);
  if (code === null || STALE_STATEMENTS.has(code)) return false;
  return !["08", "57P", "XX"].some((prefix) => code.startsWith(prefix));
}

/** Whether the transaction would have gone through without another that went through instead. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(sqlState(error) ?? "");
}

/** Whether the transaction waited too long for another one. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === LOCK_TIMEOUT;
}

/** Whether PostgreSQL gave up a query that asked too much, where others may do well. */
export function isOverLimit(error: unknown): boolean {
  const code = sqlState(error);
  return code !== null && LIMITS.some((limit) => code.startsWith(limit));
}

function isMachineFailure(error: Error): boolean {
  const code = sqlState(error);
  if (code !== null) {
    return POSTGRES_FAILURE_CLASSES.has(code.slice(0, 2)) || POSTGRES_FAILURES.has(code);
  }
  if (errorCode(error) !== "ERR_SQLITE_ERROR") return false;
  const extended = "errcode" in error && typeof error.errcode === "number" ? error.errcode : 0;
  return SQLITE_FAILURES.has(extended & 0xff);
}

/** The code of an error PostgreSQL itself reported; told by its shape, so that SQLite does without the library. */
function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || !("severity" in error)) return null;
  return errorCode(error) ?? null;
}
