import { describeFailure, type FolderLock } from "../platform/files/flock.ts";
import type { Problem } from "../platform/terminal.ts";
import { shellWord } from "../platform/text/shell-word.ts";

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
