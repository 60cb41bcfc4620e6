import type { ChildProcess } from "node:child_process";

const started = new Set<ChildProcess>();

/** Ends the process with the test's own, should the test not come to it: after a timeout nothing is left running. */
export function endWithTest(child: ChildProcess): void {
  started.add(child);
  child.once("exit", () => started.delete(child));
}

function endAll(): void {
  for (const child of started) child.kill("SIGKILL");
}

process.once("exit", endAll);
// vitest ends a worker that does not come to its end by a signal.
process.once("SIGTERM", () => {
  endAll();
  process.exit();
});
