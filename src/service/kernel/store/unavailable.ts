import { errorCode } from "../../../platform/files/files.ts";

/**
 * The store is not available; the same request may succeed later.
 *
 * Nothing was committed, except when the connection to the database was lost during a commit: then it is unknown, and the client retries.
 */
export class StoreUnavailableError extends Error {}

/** Too many queries or writes wait for the store, of one requester or of all, or one waited too long: the service is busy, the database has not failed. */
export class StoreBusyError extends StoreUnavailableError {}

/** A database whose encoding cannot hold every text. */
export class WrongEncodingError extends StoreUnavailableError {}

/**
 * Primary result codes of SQLite that report a problem of the machine, not of the query (sqlite.org/rescode.html):
 * PERM 3, BUSY 5, LOCKED 6, NOMEM 7, READONLY 8, IOERR 10, CORRUPT 11, FULL 13, CANTOPEN 14, NOTADB 26.
 */
const SQLITE_FAILURES: ReadonlySet<number> = new Set([3, 5, 6, 7, 8, 10, 11, 13, 14, 26]);

/**
 * Classes of SQLSTATE that report the same (postgresql.org/docs/current/errcodes-appendix.html): connection, invalid
 * authorization, invalid catalog or schema name, insufficient resources such as disk and memory, operator intervention such as a
 * shutdown or a timeout, system error, internal error such as corrupted data.
 */
const POSTGRES_FAILURE_CLASSES: ReadonlySet<string> = new Set(["08", "28", "3D", "3F", "53", "57", "58", "XX"]);

/** Conflicts between transactions: serialization failure, deadlock. */
const CONFLICTS: ReadonlySet<string> = new Set(["40001", "40P01"]);

/** A lock was not available in time. */
const LOCK_TIMEOUT = "55P03";

/** Codes of other classes: the server is a read-only standby, a privilege was revoked. */
const POSTGRES_FAILURES: ReadonlySet<string> = new Set(["25006", "42501", LOCK_TIMEOUT, ...CONFLICTS]);

/** A prepared statement of this connection is gone, or was for another schema. */
const STALE_STATEMENTS: ReadonlySet<string> = new Set(["26000", "0A000"]);

/** The error as the rest of the service sees it. */
export function unavailable(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StoreUnavailableError) return error;
  return isMachineFailure(error) ? new StoreUnavailableError(error.message, { cause: error }) : error;
}

/** Whether PostgreSQL reported an error after which the connection is still usable. */
export function isRefusal(error: unknown): boolean {
  const code = sqlState(error);
  if (code === null || STALE_STATEMENTS.has(code)) return false;
  return !["08", "57P", "XX"].some((prefix) => code.startsWith(prefix));
}

/** Whether the transaction failed because of a concurrent one. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(sqlState(error) ?? "");
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

/** The code of an error that PostgreSQL reported, recognized by its shape so that a service on SQLite need not load the library. */
function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || !("severity" in error)) return null;
  return errorCode(error) ?? null;
}
