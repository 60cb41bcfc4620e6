/** The programs that tests start: none outlives the process of the tests, and what they wrote is shown when a test fails. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

import { showOnFailure } from "../run/outputs.ts";
import { COMPILE_CACHE } from "./programs-built.ts";

export interface StartedProgram {
  readonly child: ChildProcess;
  /** Everything that it wrote so far, to stdout and stderr. */
  output(): string;
  /** Resolves, once everything that it wrote was read, with the exit code or the signal's name. */
  readonly ended: Promise<number | string>;
}

const started = new Set<ChildProcess>();

/** Starts `words` with PATH and this environment alone, and an open stdin. */
export function startProgram(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): StartedProgram {
  const [program = "", ...args] = words;
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
  // A program that ends without reading its stdin is no failure of the test.
  child.stdin.on("error", () => {});
  const endShowing = showOnFailure(words.join(" "), () => output);
  const ended = once(child, "close").then(([code, signal]: (number | string | null)[]) => {
    endShowing();
    return code ?? signal ?? 0;
  });
  return { child, output: () => output, ended };
}

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
