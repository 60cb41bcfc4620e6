import * as fs from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import type { Files } from "../platform/files.ts";
import { errorCode } from "../platform/files.ts";
import type { Flocked } from "../platform/flock.ts";
import { flock, NO_FLOCK } from "../platform/flock.ts";
import type { Problem } from "../platform/terminal.ts";

/** Held while one daemon works on a state directory. */
export interface StateLock extends AsyncDisposable {}

export type TakenLock =
  | { readonly kind: "lock"; readonly lock: StateLock }
  /** Another process holds it. */
  | { readonly kind: "held" }
  /** Not this user's to take; whether another process holds it, its control socket tells. */
  | { readonly kind: "denied"; readonly problem: Problem }
  | { readonly kind: "problem"; readonly problem: Problem };

/** Stays where it is: a file that came and went could be locked twice. */
const FILE_NAME = "lock";
/** Whoever can open the file can take the lock. */
const FILE_MODE = 0o600;
const DENIED_CODES: ReadonlySet<string> = new Set(["EACCES", "EPERM"]);

const open = promisify(fs.open);
const close = promisify(fs.close);
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;

/**
 * Takes the one place beside a state directory: the lock of a file in it, which the kernel drops with the process (flock.ts). Nothing is
 * stale after a power cut or kill -9, and nobody takes it who may not write the state.
 */
export async function lockState(files: Files, state_directory: string): Promise<TakenLock> {
  let descriptor: number;
  try {
    await files.makeDirectory(state_directory, 0o750);
    descriptor = await openLock(files, state_directory);
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return DENIED_CODES.has(code)
      ? { ...unusable(state_directory, code), kind: "denied" }
      : unusable(state_directory, code);
  }
  const flocked = await flock(descriptor);
  if (flocked.kind === "locked") {
    return { kind: "lock", lock: { [Symbol.asyncDispose]: () => close(descriptor) } };
  }
  await close(descriptor);
  return refused(flocked, state_directory);
}

async function openLock(files: Files, directory: string): Promise<number> {
  const path = join(directory, FILE_NAME);
  try {
    return await openFile(path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
  try {
    // What root's --setup creates is opened by the service user later: the file belongs to whom the directory belongs.
    const file = await files.createExclusive(path, FILE_MODE, await files.stat(directory));
    await file.close();
  } catch (error) {
    // A disk that is full or read-only keeps nobody from registering; the directory itself can be locked there.
    if (errorCode(error) !== "EEXIST") return open(directory, O_RDONLY | O_DIRECTORY);
  }
  return openFile(path);
}

/** Reading is enough, on a read-only disk too. */
function openFile(path: string): Promise<number> {
  return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

function refused(flocked: Exclude<Flocked, { kind: "locked" }>, state_directory: string): TakenLock {
  switch (flocked.kind) {
    case "held":
      return { kind: "held" };
    case "missing":
      return { kind: "problem", problem: { code: "no-flock", where: state_directory, ...NO_FLOCK } };
    case "failed":
      return unusable(state_directory, flocked.code);
  }
}

function unusable(where: string, code: string): Extract<TakenLock, { kind: "problem" }> {
  const what = `the state directory cannot be used (${code})`;
  const fix = "run this as root or as the agent's user, or name another folder: --state-dir DIR";
  return { kind: "problem", problem: { code: "state-unusable", what, where, fix } };
}
