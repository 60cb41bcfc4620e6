import { errorCode } from "../../../../platform/files/files.ts";
import type { Problem } from "../../../../platform/terminal.ts";
import { systemReason } from "../../system-reason.ts";
import { storeProblem } from "../store-problem.ts";
import type { StoreLocation } from "../store.ts";

/** Why a backup cannot create its file. @throws a bug. */
export function claimProblem(error: unknown, path: string): Problem {
  if (errorCode(error) === "EEXIST") {
    return {
      code: "backup-exists",
      what: "there is a file of that name, and a backup never replaces one",
      where: path,
      fix: "choose another name, for example with the date in it, or move the file away",
    };
  }
  if (errorCode(error) === undefined || !(error instanceof Error)) throw error;
  return {
    code: "backup-file-unusable",
    what: `the backup cannot be written there: ${systemReason(error)}`,
    where: path,
    fix: "name a file in a directory that exists and that this user can write to",
  };
}

/** Why copying between a store and a backup file failed; null for a bug. The copy has been removed. */
export function copyProblem(error: unknown, location: StoreLocation, what: string, path: string): Problem | null {
  // With SQLite on both sides, an error does not say which side failed.
  if (errorCode(error) === "ERR_SQLITE_ERROR" && error instanceof Error) {
    return {
      code: "copy-failed",
      what: `${what}: ${error.message}`,
      where: path,
      fix: "make sure that the file can be read, and that its disk and that of the store have room",
    };
  }
  return storeProblem(error, location);
}

/** The file cannot be read at all. */
export function backupUnreadable(path: string, error: Error): Problem {
  return {
    code: "backup-file-unreadable",
    what: `the backup cannot be read: ${systemReason(error)}`,
    where: path,
    fix: "name a file that is there and that this user may read",
  };
}

/** The file exists, but is not a backup. */
export function notABackup(path: string, reason: string): Problem {
  return {
    code: "not-a-backup",
    what: `the file is no backup of robot-policy-service: ${reason}`,
    where: path,
    fix: "name a file that was made by: robot-policy-service backup FILE",
  };
}

/** The store is not empty: a restore would mix two stores. */
export function notEmpty(where: string): Problem {
  return {
    code: "store-not-empty",
    what: "there is a store already, and a restore never overwrites one",
    where,
    fix: "name a new directory with --data, or a new empty database with --database",
  };
}
