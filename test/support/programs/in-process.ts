import type { ProcessContext } from "../../../src/cli/process-context.ts";
import { createTerminal } from "../../../src/cli/terminal.ts";
import type { LogStream } from "../../../src/platform/log/log-output.ts";
import type { Questions } from "../../../src/platform/terminal.ts";
import { showOnFailure } from "../run/outputs.ts";

export interface Ran {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

export interface Surroundings {
  readonly environment?: Readonly<Record<string, string>>;
  /** Width of the terminal; no terminal when undefined. */
  readonly columns?: number;
  readonly input?: string;
  /** The user's answers, one for each question, then the end of the input; no input is possible when undefined. */
  readonly answers?: readonly string[];
  readonly signal?: AbortSignal;
  /** Called with each piece of output. */
  readonly onOutput?: (text: string) => void;
  /** Capture the log with the output instead of writing it to the stderr of this process. */
  readonly isLogShown?: boolean;
  /** Receives the function that a SIGHUP calls. */
  readonly onHangup?: (callback: () => void) => void;
}

/**
 * Runs a program in this process and returns its output and exit code, at a tenth of the cost of a child process.
 *
 * @param title names the program in the output of a failed test.
 */
export async function runInProcess(
  title: string,
  run: (own: ProcessContext) => Promise<number>,
  surroundings: Surroundings = {},
): Promise<Ran> {
  const {
    environment = {},
    columns,
    input = "",
    answers,
    signal = new AbortController().signal,
    onOutput,
    isLogShown = false,
    onHangup = () => {},
  } = surroundings;
  let out = "";
  let err = "";
  const screen = columns === undefined ? {} : { isTTY: true, columns, rows: 50 };
  const stdout = {
    ...screen,
    write(text: string) {
      out += text;
      onOutput?.(text);
    },
  };
  const stderr = {
    ...screen,
    write(text: string) {
      err += text;
      onOutput?.(text);
    },
  };
  const endShowing = showOnFailure(title, () => out + err);
  const exitCode = await run({
    terminal: createTerminal({ stdout, stderr, environment }),
    openQuestions: () => (answers === undefined ? null : answering(answers, stderr)),
    openPerson: () => null,
    readSecret: async () => null,
    readInput: async (limitBytes) => (Buffer.byteLength(input) > limitBytes ? "too-large" : input),
    environment,
    signal,
    stderr: isLogShown ? logStream(stderr) : process.stderr,
    onHangup,
    divertSignals: () => ({ [Symbol.dispose]() {} }),
    stopWithTerminal() {},
    program: "robot-policy-agent",
    processId: process.pid,
    userId: process.getuid?.() ?? 0,
  });
  endShowing();
  return { exitCode, out, err };
}

/** pino writes to a file synchronously, and to a terminal through the stream. */
function logStream(stderr: { write(text: string): void }): LogStream {
  return {
    isTTY: true,
    writableLength: 0,
    once() {},
    write(text) {
      stderr.write(text);
      return true;
    },
  };
}

/** Answers questions from a list. The questions go to stderr, as at a terminal. */
function answering(answers: readonly string[], stderr: { write(text: string): void }): Questions {
  const left = [...answers];
  return {
    async ask(question) {
      stderr.write(`${question}\n`);
      return left.shift() ?? null;
    },
    close() {},
  };
}
