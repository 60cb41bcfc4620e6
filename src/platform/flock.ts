import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";

import { errorCode } from "./files.ts";

export type Flocked =
  | { readonly kind: "locked" }
  /** By another open file. */
  | { readonly kind: "held" }
  /** This machine has no flock(1). */
  | { readonly kind: "missing" }
  /** The system's code, or how flock(1) ended. */
  | { readonly kind: "failed"; readonly code: string };

const HELD_STATUS = 1;

/**
 * Locks an open file or directory, flock(2). The lock holds on this machine for all namespaces, until the descriptor is closed or the
 * process has ended, however it ends.
 *
 * Node cannot make this call; flock(1) of util-linux or busybox can, on a descriptor that it inherits. The lock belongs to the open file
 * description, which both share, and so stays when flock(1) is gone.
 */
export function flock(descriptor: number): Promise<Flocked> {
  return new Promise((resolve) => {
    let child: ChildProcess;
    try {
      child = spawn("flock", ["-n", "3"], { stdio: ["ignore", "ignore", "ignore", descriptor] });
    } catch (error) {
      // ENOMEM is thrown, not emitted.
      resolve({ kind: "failed", code: errorCode(error) ?? "UNKNOWN" });
      return;
    }
    child.once("error", (error) => {
      const code = errorCode(error) ?? "UNKNOWN";
      resolve(code === "ENOENT" ? { kind: "missing" } : { kind: "failed", code });
    });
    child.once("exit", (status, signal) => {
      if (status === 0) resolve({ kind: "locked" });
      else if (status === HELD_STATUS) resolve({ kind: "held" });
      else resolve({ kind: "failed", code: `flock: ${signal ?? status}` });
    });
  });
}

export const NO_FLOCK = {
  what: "flock(1) is not installed",
  fix: "install it: apt-get install util-linux, or busybox",
} as const;
