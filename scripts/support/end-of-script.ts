/** What is not to outlive a script, however it ends: by itself, by an error, by a signal, with the terminal that it runs in. */
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";

const children = new Map<ChildProcess, () => void>();
const paths = new Set<string>();

/** Kills the process in the end, if it still runs; `kill` says how where that is not enough, as for a group of processes. */
export function endWithScript(child: ChildProcess, kill: () => void = () => child.kill("SIGKILL")): void {
  children.set(child, kill);
  child.once("exit", () => children.delete(child));
}

/** Removes the file in the end, if it is still there. */
export function removeWithScript(path: string): void {
  paths.add(path);
}

/** A new folder among the temporary ones, removed in the end. */
export function scratchFolder(prefix: string, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, prefix));
  paths.add(folder);
  return folder;
}

process.once("exit", () => {
  for (const kill of children.values()) kill();
  // A child that is about to die may still make a file.
  for (const path of paths) rmSync(path, { recursive: true, force: true, maxRetries: 10 });
});
// The handlers stay: a second Ctrl-C must not cut the end short.
for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"] as const) {
  process.on(signal, () => process.exit(128 + constants.signals[signal]));
}
