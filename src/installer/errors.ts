import { errorCode } from "../platform/files/files.ts";
import type { Problem } from "../platform/terminal.ts";

/** A refusal, or a failure that changed nothing; `problem.fix` says what to do. */
export interface InstallerProblem {
  readonly kind: "problem";
  readonly problem: Problem;
}

export function refusal(problem: Problem): InstallerProblem {
  return { kind: "problem", problem };
}

/** A problem that was found in the middle of the work. */
export class InstallerError extends Error {
  override readonly name = "InstallerError";
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.what);
    this.problem = problem;
  }
}

/** The message of a failed program or system call. @throws any other error, which is a bug. */
export function reasonOfError(error: unknown): string {
  if (error instanceof ProgramFailed) return error.message;
  const code = errorCode(error);
  if (code === undefined || !(error instanceof Error)) throw error;
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return `${error.message} (the disk is full)`;
    case "EROFS":
      return `${error.message} (the disk is read-only)`;
  }
  return error.message;
}

/** A system program such as systemctl(1) failed. */
export class ProgramFailed extends Error {
  override readonly name = "ProgramFailed";

  constructor(words: readonly string[], reason: string) {
    super(`${words.join(" ")}: ${reason}`);
  }
}
