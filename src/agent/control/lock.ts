import * as fs from "node:fs";
import { promisify } from "node:util";

import type { Files } from "../../platform/files/files.ts";
import { errorCode } from "../../platform/files/files.ts";
import { describeFailure, flock } from "../../platform/files/flock.ts";
import type { Problem } from "../../platform/terminal.ts";

/** Held while one daemon works on a state directory. */
export interface StateLock extends AsyncDisposable {}

export type TakenLock =
  | { readonly kind: "lock"; readonly lock: StateLock }
  /** Another process holds it. */
  | { readonly kind: "held" }
  /** Not this user's to take; whether another process holds it, its control socket tells. */
  | { readonly kind: "denied"; readonly problem: Problem }
  | { readonly kind: "problem"; readonly problem: Problem };

const DENIED_CODES: ReadonlySet<string> = new Set(["EACCES", "EPERM"]);

const open = promisify(fs.open);
const close = promisify(fs.close);
const access = promisify(fs.access);
const { O_RDONLY, O_DIRECTORY, W_OK, X_OK } = fs.constants;

/**
 * Takes the one place beside a state directory: a lock on the directory itself, which the kernel drops with the process (flock.ts). So
 * nothing is stale after a power cut or kill -9, and there is no file that a full or read-only disk would refuse.
 *
 * The directory, because Linux keeps the lock of a directory on this machine on every filesystem. Over NFS the lock of a file would be the
 * server's, and would need a file that can be written.
 */
export async function lockState(files: Files, stateDirectory: string, userId: number): Promise<TakenLock> {
  let descriptor: number;
  try {
    descriptor = await openDirectory(files, stateDirectory, userId);
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return DENIED_CODES.has(code)
      ? { ...unusable(stateDirectory, code), kind: "denied" }
      : unusable(stateDirectory, code);
  }
  const flocked = await flock(descriptor);
  if (flocked.kind === "locked") {
    return { kind: "lock", lock: { [Symbol.asyncDispose]: () => close(descriptor) } };
  }
  await close(descriptor);
  if (flocked.kind === "held") return { kind: "held" };
  const { what, fix } = describeFailure(flocked);
  return { kind: "problem", problem: { code: "state-not-locked", what, where: stateDirectory, fix } };
}

async function openDirectory(files: Files, directory: string, userId: number): Promise<number> {
  try {
    await checkWritable(files, directory, userId);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    await files.makeDirectory(directory, 0o750);
  }
  return open(directory, O_RDONLY | O_DIRECTORY);
}

/** Who may only read the state could lock it, and would then work on what it cannot write. */
async function checkWritable(files: Files, directory: string, userId: number): Promise<void> {
  try {
    await access(directory, W_OK | X_OK);
  } catch (error) {
    // The agent registers on a read-only disk, too, and in its own directory whose mode forbids writing: the owner can mend that later.
    if (errorCode(error) === "EROFS" || (await files.stat(directory)).user_id === userId) return;
    throw error;
  }
}

function unusable(where: string, code: string): Extract<TakenLock, { kind: "problem" }> {
  const what = `the state directory cannot be used (${code})`;
  const fix = "run this as root or as the agent's user, or name another folder: --state-dir DIR";
  return { kind: "problem", problem: { code: "state-unusable", what, where, fix } };
}
