/** Cleans up at the end of a script, also after an error, a signal, or a closed terminal. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";

const children = new Map<ChildProcess, () => void>();
const paths = new Set<string>();

/** Kills the process at the end if it still runs; `kill` for what needs more, such as a process group. */
export function endWithScript(child: ChildProcess, kill: () => void = () => child.kill("SIGKILL")): void {
  children.set(child, kill);
  child.once("exit", () => children.delete(child));
}

/** Ends the process now; resolves once it has ended. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

/** Removes the file at the end, if it still exists. */
export function removeWithScript(path: string): void {
  paths.add(path);
}

/** A new temporary folder, removed at the end. */
export function scratchFolder(prefix: string, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, prefix));
  paths.add(folder);
  return folder;
}

process.once("exit", () => {
  for (const kill of children.values()) kill();
  // A child that is being killed may still create a file.
  for (const path of paths) rmSync(path, { recursive: true, force: true, maxRetries: 10 });
});
// The handlers stay, so that a second Ctrl-C does not interrupt the cleanup.
for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"] as const) {
  process.on(signal, () => process.exit(128 + constants.signals[signal]));
}
