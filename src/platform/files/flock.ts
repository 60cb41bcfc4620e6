import { type ChildProcess, spawn } from "node:child_process";
import * as fs from "node:fs";
import { promisify } from "node:util";

import type { Problem } from "../terminal.ts";
import { errorCode } from "./files.ts";

export type Flocked =
  | { readonly kind: "locked" }
  /** Another open file has the lock. */
  | { readonly kind: "held" }
  | FlockFailure;

export type FlockFailure =
  /** flock(1) could not be started; the system's code. */
  | { readonly kind: "not-started"; readonly code: string }
  /** The lock could not be taken for another reason: the message of flock(1). */
  | { readonly kind: "failed"; readonly reason: string };

/**
 * Locks an open file or directory with flock(2). The lock is valid for all namespaces of this machine, until the descriptor is closed or
 * the process ends in any way.
 *
 * Node has no flock(2), so flock(1) of util-linux or busybox locks a descriptor that it inherits. The lock belongs to the shared open file
 * description, so it stays when flock(1) ends.
 */
async function flock(descriptor: number): Promise<Flocked> {
  const first = await runFlock(descriptor, "ignore");
  // Run again with a pipe for the error message only after a failure, because the pipe costs 5 ms of a boot.
  return first.kind === "held" || first.kind === "failed" ? runFlock(descriptor, "pipe") : first;
}

// Descriptors, because the garbage collector may close a FileHandle of node:fs/promises, and with it the lock.
const open = promisify(fs.open);
const close = promisify(fs.close);

/** A folder that was opened to be locked. The lock ends with the process or when this is disposed. */
export interface FolderLock extends AsyncDisposable {
  readonly flocked: Flocked;
  readonly path: string;
}

/**
 * Opens and locks a folder.
 *
 * @param links whether the path may be a symbolic link to the folder. @throws Node system errors of the opening.
 */
export async function lockFolder(path: string, links: "refused" | "followed" = "refused"): Promise<FolderLock> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = fs.constants;
  const descriptor = await open(path, O_RDONLY | O_DIRECTORY | (links === "refused" ? O_NOFOLLOW : 0));
  return { flocked: await flock(descriptor), path, [Symbol.asyncDispose]: () => close(descriptor) };
}

function runFlock(descriptor: number, stderr: "ignore" | "pipe"): Promise<Flocked> {
  return new Promise((resolve) => {
    const notStarted = (error: unknown) => resolve({ kind: "not-started", code: errorCode(error) ?? "UNKNOWN" });
    let child: ChildProcess;
    try {
      child = spawn("flock", ["-n", "3"], { stdio: ["ignore", "ignore", stderr, descriptor] });
    } catch (error) {
      // ENOMEM is thrown, not emitted.
      notStarted(error);
      return;
    }
    let complaint = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      complaint += text;
    });
    child.once("error", notStarted);
    child.once("close", (status, signal) => {
      if (status === 0) resolve({ kind: "locked" });
      // busybox exits 1 for every failure, but prints nothing only when the lock is held.
      else if (status === 1 && complaint === "") resolve({ kind: "held" });
      else resolve({ kind: "failed", reason: complaint.trim() || `flock: ${signal ?? status}` });
    });
  });
}

/** Describes the failure and its remedy. */
export function describeFailure(failure: FlockFailure): Pick<Problem, "what" | "fix"> {
  if (failure.kind === "failed") {
    return { what: `it cannot be locked (${failure.reason})`, fix: "put it on a local disk" };
  }
  if (failure.code === "ENOENT") {
    return { what: "flock(1) is not installed", fix: "install it: apt-get install util-linux, or busybox" };
  }
  return {
    what: `flock(1) cannot be started (${failure.code})`,
    fix: "free memory, processes or open files, or raise their limits (ulimit -a), then try again",
  };
}
