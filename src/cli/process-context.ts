import type { Writable } from "node:stream";

import { errorCode } from "../platform/files/files.ts";
import type { LogStream } from "../platform/log/log-output.ts";
import type { DivertSignals } from "../platform/programs.ts";
import { ownCommand } from "../platform/text/shell-word.ts";
import { EXIT, type Person, type Questions } from "../platform/terminal.ts";
import { openQuestions, readSecret } from "./questions.ts";
import { createTerminal, type ProgramTerminal } from "./terminal.ts";

/** The parts of the process that commands need, passed to them instead of `process`. */
export interface ProcessContext {
  readonly terminal: ProgramTerminal;
  /** null when stdin is not a terminal. */
  openQuestions(): Questions | null;
  /** null when stdin or stderr is not a terminal. Asked on stderr, because stdout is for results. */
  openPerson(): Person | null;
  /** All of stdin, as text. */
  readInput(limitBytes: number): Promise<string | "too-large">;
  /** Reads a secret from stdin; at a terminal with a prompt and without echo. null when the person aborted. */
  readSecret(prompt: string, limitLength: number): Promise<string | "too-large" | null>;
  /** Output of the log; all other output goes to the terminal. */
  readonly stderr: LogStream;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  onHangup(callback: () => void): void;
  readonly divertSignals: DivertSignals;
  /** For a program that nobody needs without its terminal. Under nohup(1), which redirects stderr, it goes on. */
  stopWithTerminal(): void;
  /** How a shell calls this program, for hints about commands that a name in the PATH may not stand for. */
  readonly program: string;
  readonly processId: number;
  readonly userId: number;
}

/**
 * A second SIGINT ends the program at once. A closed stdout (`| head`) counts as a SIGINT, because nobody reads the result; the daemon does
 * not write to stdout and is not affected. Output that cannot be written for another reason, such as a full disk, is reported, and the
 * program fails even when the command succeeded.
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
  let divert: ((signal: NodeJS.Signals) => void) | null = null;
  const onSignal = (signal: NodeJS.Signals) => {
    if (divert === null) stop();
    // A terminal sends Ctrl-C to all programs in the foreground.
    else if (signal !== "SIGINT" || !own.stdin.isTTY) divert(signal);
  };
  own.on("SIGINT", onSignal);
  own.on("SIGTERM", onSignal);
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
      fix: "what the command changed stays changed; run it again with an output that has space",
    });
  });
  own.stderr.on("error", () => {});
  return {
    terminal,
    // Opened lazily, because opening stdin takes time and few commands need it.
    openQuestions() {
      const { stdin, stderr } = own;
      return openQuestions({ stdin, stderr, interrupt: stop, signal: stopping.signal });
    },
    openPerson: () => (own.stdin.isTTY && own.stderr.isTTY ? { input: own.stdin, output: sized(own.stderr) } : null),
    readInput: (limitBytes) => readInput(own, limitBytes, stopping.signal),
    readSecret(prompt, limitLength) {
      const { stdin, stderr } = own;
      if (!stdin.isTTY) return readInput(own, limitLength, stopping.signal);
      return readSecret({ stdin, stderr, interrupt: stop, signal: stopping.signal }, prompt, limitLength);
    },
    stderr: own.stderr,
    environment: own.env,
    signal: stopping.signal,
    onHangup(callback) {
      hangup = callback;
    },
    divertSignals(receive) {
      divert = receive;
      return {
        [Symbol.dispose]() {
          divert = null;
        },
      };
    },
    stopWithTerminal() {
      if (own.stderr.isTTY) hangup = stop;
    },
    program: ownCommand(own.argv[1] ?? "", own.execPath),
    processId: own.pid,
    userId: own.getuid?.() ?? 0,
  };
}

/** A serial console says that it has 0 columns, and every line would be wrapped after each character; without a size, 80 are assumed. */
function sized(terminal: NodeJS.WriteStream): Writable {
  if (terminal.columns > 0) return terminal;
  const { Writable } = process.getBuiltinModule("node:stream");
  return new Writable({ write: (chunk, _encoding, done) => void terminal.write(chunk, done) });
}

/** @throws when `signal` aborts, for example when the person interrupts the question. */
async function readInput(
  { stdin }: NodeJS.Process,
  limitBytes: number,
  signal: AbortSignal,
): Promise<string | "too-large"> {
  // Loaded lazily, because the daemon reads nothing.
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
 * Ends the process once all output is written. Without this, an abandoned name lookup would delay the exit by half a minute, and
 * `process.exit` alone would drop output that a pipe has not accepted yet.
 */
export async function endProcess(own: NodeJS.Process, exitCode: number): Promise<void> {
  await Promise.all([written(own.stdout), Promise.race([written(own.stderr), stalled()])]);
  // A failed write is reported one turn later.
  await new Promise((resolve) => setImmediate(resolve));
  // Set when output was lost.
  const code = Number(own.exitCode ?? exitCode);
  exitNow(own, own.env[EXIT_CODES_VARIABLE] === "sysexits" ? (SYSEXITS.get(code) ?? code) : code);
}

/** Set by our units. */
const EXIT_CODES_VARIABLE = "ROBOT_POLICY_EXIT_CODES";

/** systemd.exec(5), "Process exit codes": systemd shows codes 2 to 7 by the names of LSB, and these by those of sysexits.h. */
const SYSEXITS: ReadonlyMap<number, number> = new Map([
  // CONFIG
  [EXIT.invalid, 78],
  // UNAVAILABLE
  [EXIT.unreachable, 69],
  // NOPERM
  [EXIT.unauthorized, 77],
  // DATAERR
  [EXIT.rejected, 65],
  // No name fits.
  [EXIT.conflict, 79],
]);

/** Bounds the wait for a stalled reader of the log. */
const FLUSH_LIMIT_MS = 1000;

function stalled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, FLUSH_LIMIT_MS).unref());
}

/** Time limit after a stop for a command that waits for a hanging disk; longer than a command needs to stop by itself. */
const STOP_LIMIT_MS = 5000;
/** Requests that block a thread of libuv's pool, for the disk or a name server. */
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
 * exit(3) joins those threads, so a hanging network drive would block the exit forever, and systemd with it. execve(2) makes the kernel end
 * them: the process becomes a shell that only exits with the code.
 */
function exitNow(own: NodeJS.Process, exitCode: number): void {
  try {
    if (hasHungWork(own)) {
      own.execve?.("/bin/sh", ["sh", "-c", `exit ${exitCode}`], {});
    }
  } catch {
    // Without a shell, the exit waits for the threads.
  }
  own.exit(exitCode);
}

/** Does not write when nothing is pending, because /dev/full refuses even an empty write. */
async function written(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength > 0) await new Promise((resolve) => stream.write("", resolve));
}

/** The abort reason for a signal. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}
