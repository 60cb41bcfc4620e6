/** Child processes of tests. None outlives the test process, and a failed test prints their output. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

import { showOnFailure } from "../run/outputs.ts";
import { COMPILE_CACHE } from "./programs-built.ts";

export interface StartedProgram {
  readonly child: ChildProcess;
  /** Standard output and standard error so far. */
  output(): string;
  /** Resolves with the exit code or the name of the signal, once all output has been read. */
  readonly ended: Promise<number | string>;
}

const started = new Set<ChildProcess>();

/** Starts a program with only PATH and this environment, and an open stdin. */
export function startProgram(
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): StartedProgram {
  const [program = "", ...args] = argv;
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], ...COMPILE_CACHE, ...environment },
  });
  endWithTest(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  // A program that exits without reading its stdin does not fail the test.
  child.stdin.on("error", () => {});
  const endShowing = showOnFailure(argv.join(" "), () => output);
  const ended = once(child, "close").then(([code, signal]: (number | string | null)[]) => {
    endShowing();
    return code ?? signal ?? 0;
  });
  return { child, output: () => output, ended };
}

/** Kills the child when the test process exits, in case the test does not: after a timeout nothing keeps running. */
export function endWithTest(child: ChildProcess): void {
  started.add(child);
  child.once("exit", () => started.delete(child));
}

function endAll(): void {
  for (const child of started) child.kill("SIGKILL");
}

process.once("exit", endAll);
// Vitest stops hanging workers by a signal.
process.once("SIGTERM", () => {
  endAll();
  process.exit();
});
