import type { Readable, Writable } from "node:stream";

/**
 * The output of commands. Commands never write to stdout themselves, so that one renderer (cli/terminal.ts) handles width, colour and JSON,
 * and tests can read the output.
 */
export interface Terminal {
  /** Columns of the terminal, or 80 when there is none. */
  readonly columns: number;
  /** A line for stdout. Line feeds in the text become spaces, because names from elsewhere may have them. */
  print(text: string): void;
  /** Text of several lines for stdout, such as a document. */
  printText(text: string): void;
  /** An empty line and a bold title, which `rest` continues, on stdout. */
  heading(title: string, rest?: string): void;
  /**
   * A sentence for stdout, wrapped between words to the width of the terminal.
   *
   * @param first the prefix of the first line, and `rest` of the others, with the same width.
   */
  sentence(text: string, first?: string, rest?: string): void;
  /** The one JSON document of a `--json` run, on stdout. */
  json(value: unknown): void;
  /** One JSON document per line, on stdout. */
  jsonLine(value: unknown): void;
  /**
   * A table on stdout, fitted to the terminal. When it is too wide, the columns in `prose` are cut, and those in `spare` are hidden, the
   * last first.
   *
   * @returns the headers of the hidden columns, in the order of the table.
   */
  table(
    headers: readonly string[],
    rows: readonly (readonly string[])[],
    prose?: readonly string[],
    spare?: readonly string[],
  ): readonly string[];
  /** Whether stdout is no terminal: a person reads it later, or a program does. */
  readonly isPiped: boolean;
  /** True on a terminal, where text can be redrawn. */
  readonly interactive: boolean;
  /**
   * Replaces the lines of the last `draw`, as many as fit the terminal, on stderr; does nothing when not interactive. Other output appears
   * below them, and the next `draw` below that.
   */
  draw(lines: readonly string[]): void;
  /** A text for people with the commands that it names completed, so that they work as printed. */
  completeHint(text: string): string;
  /** A line for a person, on stderr. */
  note(text: string): void;
  /** What does not prevent the result but should be corrected, and how, on stderr. */
  warning(what: string, fix?: string): void;
  /** A failure, on stderr: what happened, where, what to do. */
  problem(problem: Problem): void;
  /** Progress of long work: a bar on a terminal, nothing elsewhere. `fraction` in 0…1; 1 removes the bar. */
  progress(label: string, fraction: number): void;
  /** Styles text for this terminal; returns it unchanged when colour is off. */
  style(style: "good" | "bad" | "warn" | "dim" | "bold", text: string): string;
}

/** Asks a person at the terminal. */
export interface Questions {
  /** @returns what was typed; null at the end of the input. */
  ask(question: string): Promise<string | null>;
  close(): void;
}

/** The terminal of somebody who answers questions. */
export interface Person {
  readonly input: Readable;
  readonly output: Writable;
}

/** A failure a person can act on. An entry without a remedy is unfinished. */
export interface Problem {
  /** Stable identifier for scripts, kebab-case. */
  readonly code: string;
  /** What happened, one sentence. */
  readonly what: string;
  /** Where: `file:line:column`, a URL, a path. */
  readonly where?: string;
  /** What to do, one sentence or command. */
  readonly fix: string;
}

/** Stable exit codes for scripts; the same for all three programs. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  invalid: 3,
  unreachable: 4,
  unauthorized: 5,
  rejected: 6,
  conflict: 7,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
