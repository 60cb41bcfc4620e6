import * as fs from "node:fs";
import { promisify } from "node:util";

import { errorCode, type Files } from "../../platform/files/files.ts";
import { describeFailure, type FolderLock, lockFolder } from "../../platform/files/flock.ts";
import type { Problem } from "../../platform/terminal.ts";

export type TakenLock =
  /** Held while one daemon works on a state directory. */
  | { readonly kind: "lock"; readonly lock: AsyncDisposable }
  /** Another process holds it. */
  | { readonly kind: "held" }
  /** This user may not take the lock. The control socket tells whether a daemon runs. */
  | { readonly kind: "denied"; readonly problem: Problem }
  | { readonly kind: "problem"; readonly problem: Problem };

const DENIED_CODES: ReadonlySet<string> = new Set(["EACCES", "EPERM"]);

const access = promisify(fs.access);
const { W_OK, X_OK } = fs.constants;

/**
 * Takes an exclusive lock on the state directory itself. The kernel drops it when the process ends (flock.ts), so nothing is stale after a
 * power cut or kill -9, and no lock file must be created on a full or read-only disk.
 *
 * Linux keeps the lock of a directory local on every filesystem. Over NFS, the lock of a file would be on the server and require a
 * writable file.
 */
export async function lockState(files: Files, stateDirectory: string, userId: number): Promise<TakenLock> {
  let lock: FolderLock;
  try {
    await prepareDirectory(files, stateDirectory, userId);
    lock = await lockFolder(stateDirectory, "followed");
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return DENIED_CODES.has(code)
      ? { ...unusable(stateDirectory, code), kind: "denied" }
      : unusable(stateDirectory, code);
  }
  const { flocked } = lock;
  if (flocked.kind === "locked") return { kind: "lock", lock };
  await lock[Symbol.asyncDispose]();
  if (flocked.kind === "held") return { kind: "held" };
  const { what, fix } = describeFailure(flocked);
  return { kind: "problem", problem: { code: "state-not-locked", what, where: stateDirectory, fix } };
}

/** flock(2) needs only read access; this keeps a user out that cannot write the state. */
async function prepareDirectory(files: Files, directory: string, userId: number): Promise<void> {
  try {
    await access(directory, W_OK | X_OK);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT") return files.makeDirectory(directory, 0o750);
    // The agent also runs on a read-only disk, and in a directory of its own user with a mode that forbids writing.
    if (code !== "EROFS" && (await files.stat(directory)).userId !== userId) throw error;
  }
}

function unusable(where: string, code: string): Extract<TakenLock, { kind: "problem" }> {
  const what = `the state directory cannot be used (${code})`;
  const fix = "run this as root or as the agent's user, or name another folder: --state-dir DIR";
  return { kind: "problem", problem: { code: "state-unusable", what, where, fix } };
}
