import type { ProcessContext } from "../../../src/cli/process-context.ts";
import { createTerminal } from "../../../src/cli/terminal.ts";
import type { LogStream } from "../../../src/platform/log/log-output.ts";
import type { Questions } from "../../../src/platform/questions.ts";
import { showOnFailure } from "../run/outputs.ts";

export interface Ran {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

export interface Surroundings {
  readonly environment?: Readonly<Record<string, string>>;
  /** Of a terminal; none when not given. */
  readonly columns?: number;
  readonly input?: string;
  /** What the person types when asked, one answer for each question, then the end of the input; nobody can be asked when not given. */
  readonly answers?: readonly string[];
  readonly signal?: AbortSignal;
  /** Called with everything that is written, as it is written. */
  readonly onOutput?: (text: string) => void;
  /** The log is a part of what it writes; it goes to the stderr of this process when not. */
  readonly isLogShown?: boolean;
  /** Given what SIGHUP calls. */
  readonly onHangup?: (callback: () => void) => void;
}

/**
 * Runs a program in this process: what it prints and its exit code, at a tenth of what it costs to start it.
 *
 * @param title names it where a failed test shows what its programs wrote.
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
    readSecret: async () => null,
    readInput: async (limitBytes) => (Buffer.byteLength(input) > limitBytes ? "too-large" : input),
    environment,
    signal,
    stderr: isLogShown ? logStream(stderr) : process.stderr,
    onHangup,
    processId: process.pid,
    userId: process.getuid?.() ?? 0,
  });
  endShowing();
  return { exitCode, out, err };
}

/** A log is written to a file at once, and to a terminal through the stream. */
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

/** A person who has made up their mind. The questions are on stderr, as they are at a terminal. */
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
