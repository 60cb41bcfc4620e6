/**
 * A shell that stays open in the namespaces of a site or a computer and runs scripts there. Entering the namespaces takes 10 ms of CPU
 * time per script, and a test file runs a hundred of them.
 */
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

import { type Executed, type ExecuteOptions, requireSuccess } from "../programs/execute.ts";
import { PATIENCE_MS } from "../run/patience.ts";

export type ScriptOptions = Omit<ExecuteOptions, "environment">;

export interface Session {
  /**
   * Runs a shell script. Scripts can run concurrently. When the shell ends, running scripts count as killed.
   *
   * @throws the output of the script, when it fails or exceeds its time limit.
   */
  run(script: string, options?: ScriptOptions): Promise<Executed>;
  /** Resolves when the shell has ended. */
  end(): Promise<void>;
}

/** Exit code for SIGKILL in a shell. */
const KILLED = 137;

/**
 * The program of the shell: reads numbers, runs the script of each, and prints the number and the exit code. Ends at the end of its input.
 *
 * @param folder for scripts, their input and output, as the shell sees it.
 */
export function sessionLoop(folder: string): string {
  const file = `${folder}/$number`;
  // `jobs` reaps ended scripts.
  return `cd /; while read -r number; do
    jobs >/dev/null
    { code=0; sh -e ${file}.sh <${file}.in >${file}.out 2>${file}.err || code=$?; echo "$number $code"; } &
  done`;
}

/** @param folder the same folder as seen by this process. */
export function openSession(shell: ChildProcessByStdio<Writable, Readable, null>, folder: string): Session {
  const waiting = new Map<number, (code: number) => void>();
  const ended = once(shell, "exit");
  let count = 0;
  let isOpen = true;
  mkdirSync(folder, { recursive: true });
  shell.stdin.on("error", () => {});
  createInterface({ input: shell.stdout }).on("line", (line) => {
    const [number = 0, code = KILLED] = line.split(" ").map(Number);
    waiting.get(number)?.(code);
  });
  shell.once("exit", () => {
    isOpen = false;
    for (const resolve of waiting.values()) resolve(KILLED);
  });

  return {
    async run(script, { input = "", limitMs = PATIENCE_MS, may_fail: mayFail = false } = {}) {
      if (!isOpen) return requireSuccess(script, { code: KILLED, stdout: "", stderr: "" }, mayFail);
      count += 1;
      const number = count;
      const path = (kind: string) => join(folder, `${number}.${kind}`);
      writeFileSync(path("sh"), script);
      writeFileSync(path("in"), input);
      const answer = new Promise<number | null>((resolve) => {
        waiting.set(number, resolve);
        setTimeout(resolve, limitMs, null).unref();
      });
      shell.stdin.write(`${number}\n`);
      const code = await answer;
      waiting.delete(number);
      const [stdout, stderr] = [take(path("out")), take(path("err"))];
      if (code === null) throw new Error(`${script}: no end after ${limitMs} ms\n${stdout}${stderr}`);
      for (const kind of ["sh", "in"]) take(path(kind));
      return requireSuccess(script, { code, stdout, stderr }, mayFail);
    },
    async end() {
      shell.stdin.end();
      await ended;
    },
  };
}

/** Reads and removes a file. A power cut removes the files together with the computer. */
function take(path: string): string {
  try {
    const text = readFileSync(path, "utf8");
    rmSync(path);
    return text;
  } catch {
    return "";
  }
}
