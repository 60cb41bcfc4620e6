import { errorCode } from "../platform/files/files.ts";
import type { LogStream } from "../platform/log/log-output.ts";
import type { Questions } from "../platform/questions.ts";
import { EXIT } from "../platform/terminal.ts";
import { openQuestions } from "./questions.ts";
import { createTerminal } from "./terminal.ts";
import type { ProgramTerminal } from "./terminal.ts";

/** What a program takes from its process, and hands to its commands instead of `process`. */
export interface ProcessContext {
  readonly terminal: ProgramTerminal;
  /** null where nobody can be asked. */
  openQuestions(): Questions | null;
  /** Everything that comes in by stdin, as text. */
  readInput(limitBytes: number): Promise<string | "too-large">;
  /** A secret from stdin; a person at the terminal is asked and sees nothing of it. null when the person gave up. */
  readSecret(prompt: string, limitLength: number): Promise<string | "too-large" | null>;
  /** For a log; everything else goes to the terminal. */
  readonly stderr: LogStream;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  onHangup(callback: () => void): void;
  readonly process_id: number;
  readonly user_id: number;
}

/**
 * Two SIGINTs end a program that does not want to end. A reader of its output that goes away (`| head`) is taken for one: there is
 * nobody left to work for. The daemon never writes to stdout and outlives it. Output that cannot be written for another reason, such as
 * a full disk, is told, and fails the program whatever the command made of it.
 */
export function openProcess(own: NodeJS.Process): ProcessContext {
  const stopping = new AbortController();
  let hangup: () => void = () => {};
  const abort = () => stopping.abort(new Interrupted());
  const stop = () => {
    if (stopping.signal.aborted) exitNow(own, EXIT.interrupted);
    abort();
    setTimeout(() => {
      if (hasHungWork(own)) exitNow(own, EXIT.interrupted);
    }, STOP_LIMIT_MS).unref();
  };
  own.on("SIGINT", stop);
  own.on("SIGTERM", stop);
  own.on("SIGHUP", () => hangup());
  const terminal = createTerminal({ stdout: own.stdout, stderr: own.stderr, environment: own.env });
  own.stdout.on("error", (error) => {
    abort();
    const code = errorCode(error) ?? error.message;
    if (code === "EPIPE" || own.exitCode === EXIT.failed) return;
    own.exitCode = EXIT.failed;
    terminal.problem({
      code: "output-failed",
      what: `cannot write the output (${code})`,
      fix: "what the command does is done, as far as it came; see it again where there is room to write",
    });
  });
  own.stderr.on("error", () => {});
  return {
    terminal,
    // Getting at stdin costs; nearly no command wants it.
    openQuestions() {
      const { stdin, stderr } = own;
      return openQuestions({ stdin, stderr, interrupt: stop, signal: stopping.signal });
    },
    readInput: (limitBytes) => readInput(own, limitBytes, stopping.signal),
    async readSecret(prompt, limitLength) {
      const { readSecret } = await import("./secret-input.ts");
      const { stdin, stderr } = own;
      return readSecret({ stdin, stderr, interrupt: stop, signal: stopping.signal }, prompt, limitLength);
    },
    stderr: own.stderr,
    environment: own.env,
    signal: stopping.signal,
    onHangup(callback) {
      hangup = callback;
    },
    process_id: own.pid,
    user_id: own.getuid?.() ?? 0,
  };
}

/** @throws where `signal` aborts: a person who is asked for text may interrupt instead. */
async function readInput(
  { stdin }: NodeJS.Process,
  limitBytes: number,
  signal: AbortSignal,
): Promise<string | "too-large"> {
  // The daemon reads nothing, and starts without it.
  const { addAbortSignal } = await import("node:stream");
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of addAbortSignal(signal, stdin)) {
    const bytes = Buffer.from(chunk);
    sizeBytes += bytes.byteLength;
    if (sizeBytes > limitBytes) return "too-large";
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * Ends the process once everything is written. Without it a name lookup that nobody waits for any more would hold the process for half
 * a minute, and `process.exit` alone would cut off what a pipe has not taken yet.
 */
export async function endProcess(own: NodeJS.Process, exitCode: number): Promise<void> {
  await Promise.all([written(own.stdout), Promise.race([written(own.stderr), stalled()])]);
  // A write that failed is told a turn later.
  await new Promise((resolve) => setImmediate(resolve));
  // Set where the output was lost.
  exitNow(own, Number(own.exitCode ?? exitCode));
}

/** A log's reader that has stalled may never take the rest. */
const FLUSH_LIMIT_MS = 1000;

function stalled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, FLUSH_LIMIT_MS).unref());
}

/** A command that was told to stop, and that the disk does not let: later than any that does so by itself. */
const STOP_LIMIT_MS = 5000;
/** What waits for the disk or for a name server in a thread of its own (libuv's pool). */
const THREAD_WORK: ReadonlySet<string> = new Set([
  "FSReqCallback",
  "FSReqPromise",
  "GetAddrInfoReqWrap",
  "GetNameInfoReqWrap",
]);

function hasHungWork(own: NodeJS.Process): boolean {
  return own.getActiveResourcesInfo().some((name) => THREAD_WORK.has(name));
}

/**
 * exit(3) joins those threads, so that a network drive that never answers would keep the process for ever, and a service manager
 * waiting for it. The kernel ends them for a process that becomes another program, which here does nothing but end with that code.
 */
function exitNow(own: NodeJS.Process, exitCode: number): void {
  try {
    if (hasHungWork(own)) {
      own.execve?.("/bin/sh", ["sh", "-c", `exit ${exitCode}`], {});
    }
  } catch {
    // Without a shell the process waits for its threads after all.
  }
  own.exit(exitCode);
}

/** Where nothing waits to be written, nothing is: /dev/full refuses even that. */
async function written(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength > 0) await new Promise((resolve) => stream.write("", resolve));
}

/** The reason of an abort by a signal. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}
