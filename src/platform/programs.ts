import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Readable } from "node:stream";

import { errorCode } from "./files/files.ts";

/** The result of running another program. */
export type ProgramResult =
  | { readonly kind: "ended"; readonly exitCode: number; readonly stdout: string; readonly stderr: string }
  /** The program is not installed. */
  | { readonly kind: "missing" }
  /** It was killed: it exceeded its time limit or its output limit. */
  | { readonly kind: "killed" }
  /** It could not be started: the system's code. */
  | { readonly kind: "failed"; readonly code: string };

/** Runs another program, killed after `limitMs`. Never rejects. */
export type RunProgram = (words: readonly string[], options?: ProgramOptions) => Promise<ProgramResult>;

export interface ProgramOptions {
  readonly limitMs?: number;
  /** What the program reads from stdin; nothing without it. */
  readonly input?: string;
  /** Open files that the program gets as `/proc/self/fd/3` and so on, which stay valid when their names change. */
  readonly descriptors?: readonly number[];
}

/** The first of the descriptors, in the program. */
export const FIRST_DESCRIPTOR = 3;
const DEFAULT_LIMIT_MS = 5000;
const OUTPUT_LIMIT_BYTES = 1024 * 1024;

/** A fixed environment, because root runs this too, and the PATH of an ordinary user may lack /usr/sbin. */
const ENVIRONMENT = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };

export const systemPrograms: RunProgram = (words, options = {}) => {
  const [program = "", ...args] = words;
  const { limitMs = DEFAULT_LIMIT_MS, input, descriptors = [] } = options;
  return new Promise((resolve) => {
    let child: ChildProcess;
    try {
      const stdin = input === undefined ? "ignore" : "pipe";
      child = spawn(program, args, { cwd: "/", env: ENVIRONMENT, stdio: [stdin, "pipe", "pipe", ...descriptors] });
    } catch (error) {
      // ENOMEM and E2BIG are thrown, not emitted.
      resolve({ kind: "failed", code: errorCode(error) ?? "UNKNOWN" });
      return;
    }
    const kill = () => child.kill("SIGKILL");
    const limit = setTimeout(() => {
      kill();
      // Do not wait for the end: a process that hangs in the kernel does not end even when killed.
      conclude({ kind: "killed" });
    }, limitMs);
    const conclude = (result: ProgramResult) => {
      clearTimeout(limit);
      child.unref();
      resolve(result);
    };
    // A program may end before it has read everything (EPIPE).
    child.stdin?.on("error", () => {}).end(input);
    const stdout = gather(child.stdout, kill);
    const stderr = gather(child.stderr, kill);
    child.once("error", (error) => {
      const code = errorCode(error) ?? "UNKNOWN";
      conclude(code === "ENOENT" ? { kind: "missing" } : { kind: "failed", code });
    });
    child.once("close", (exitCode) => {
      conclude(
        exitCode === null ? { kind: "killed" } : { kind: "ended", exitCode, stdout: stdout(), stderr: stderr() },
      );
    });
  });
};

/** Hands the signals that would stop this program to `receive`, until disposed. */
export type DivertSignals = (receive: (signal: NodeJS.Signals) => void) => Disposable;

/**
 * Runs a command at the terminal of this one, and waits for its end. Meanwhile signals are its own: it decides what they mean.
 *
 * @returns its exit code, 128 and the number of the signal that ended it. @throws Node system errors, such as ENOENT.
 */
export async function runInForeground(words: readonly string[], divertSignals: DivertSignals): Promise<number> {
  const [program = "", ...args] = words;
  const child = spawn(program, args, { stdio: "inherit" });
  using _diverted = divertSignals((signal) => child.kill(signal));
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (exitCode, ended) => {
      resolve(exitCode ?? 128 + (ended === null ? 0 : constants.signals[ended]));
    });
  });
}

/** Collects what a program writes, up to the limit. */
function gather(stream: Readable | null, onTooMuch: () => void): () => string {
  const chunks: Buffer[] = [];
  let length = 0;
  stream?.on("data", (chunk: Buffer) => {
    length += chunk.byteLength;
    if (length > OUTPUT_LIMIT_BYTES) onTooMuch();
    else chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString("utf8");
}
