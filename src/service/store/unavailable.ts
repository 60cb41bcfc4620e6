import { errorCode } from "../../platform/files.ts";

/** The store cannot do this now; the same request may succeed later. Nothing of it happened. */
export class StoreUnavailableError extends Error {}

/**
 * Primary result codes that speak of the machine, not of the query (sqlite.org/rescode.html):
 * PERM 3, BUSY 5, LOCKED 6, NOMEM 7, READONLY 8, IOERR 10, CORRUPT 11, FULL 13, CANTOPEN 14, NOTADB 26.
 */
const MACHINE_FAILURES: ReadonlySet<number> = new Set([3, 5, 6, 7, 8, 10, 11, 13, 14, 26]);

/** The error as the rest of the service should see it. */
export function unavailable(error: unknown): unknown {
  if (errorCode(error) !== "ERR_SQLITE_ERROR" || !(error instanceof Error)) return error;
  const extended = "errcode" in error && typeof error.errcode === "number" ? error.errcode : 0;
  if (!MACHINE_FAILURES.has(extended & 0xff)) return error;
  return new StoreUnavailableError(error.message, { cause: error });
}
