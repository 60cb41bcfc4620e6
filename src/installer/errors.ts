import { errorCode } from "../platform/files/files.ts";
import { describeFailure, type FolderLock } from "../platform/files/flock.ts";
import type { Problem } from "../platform/terminal.ts";
import { shellWord } from "../platform/text/shell-word.ts";

/** A refusal, or a failure in the middle of the work. Ends the command; `problem.fix` says what to do. */
export class InstallerError extends Error {
  override readonly name = "InstallerError";
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.what);
    this.problem = problem;
  }
}

/** A system program such as systemctl(1) failed. */
export class ProgramFailed extends Error {
  override readonly name = "ProgramFailed";

  constructor(words: readonly string[], reason: string) {
    super(`${words.join(" ")}: ${reason}`);
  }
}

/** The message of a failed program or system call. @throws any other error, which is a bug. */
export function reasonOfError(error: unknown): string {
  if (error instanceof ProgramFailed) return error.message;
  if (errorCode(error) === undefined || !(error instanceof Error)) throw error;
  return error.message;
}

/** @param commands that may hold the lock, and `where` they work, for the message. @returns null for a lock that was taken. */
export function findLockProblem({ flocked, path }: FolderLock, commands: string, where: string): Problem | null {
  switch (flocked.kind) {
    case "locked":
      return null;
    case "held": {
      const fix = `wait until it is done, then run this again; fuser ${shellWord(path)} names the process`;
      return { code: "busy", what: `another ${commands} is running there`, where, fix };
    }
    case "not-started":
    case "failed":
      return { code: "lock-failed", where: path, ...describeFailure(flocked) };
  }
}
