/**
 * The person at the other end. Commands speak through this interface and never touch stdout themselves, so that one
 * renderer (cli/terminal.ts) decides about width, colour and JSON, and tests read what a person would.
 */
export interface Terminal {
  /** Columns of the terminal, or 80 when there is none. */
  readonly columns: number;
  /** Text for stdout, a line feed is added. */
  print(text: string): void;
  /**
   * A sentence for stdout, broken between words where a terminal would break it within one.
   *
   * @param first before its first line, and `rest` before the others; both as wide.
   */
  sentence(text: string, first?: string, rest?: string): void;
  /** The one JSON document of a `--json` run, on stdout. */
  json(value: unknown): void;
  /** One JSON document of many, on a line of its own, on stdout. */
  jsonLine(value: unknown): void;
  /**
   * Rows under headers, fitted to the terminal, on stdout. Where they are too wide, only the columns that `prose` names are cut, and
   * those that `spare` names hidden, the last first.
   *
   * @param columns how wide it may be, where that is not the width of the terminal.
   * @returns the headers of the hidden columns, in the order of the table.
   */
  table(
    headers: readonly string[],
    rows: readonly (readonly string[])[],
    prose?: readonly string[],
    spare?: readonly string[],
    columns?: number,
  ): readonly string[];
  /** The same as text, for what is drawn over. */
  layOutTable(
    headers: readonly string[],
    rows: readonly (readonly string[])[],
    prose?: readonly string[],
    spare?: readonly string[],
    columns?: number,
  ): TableLayout;
  /** Whether a person looks on, and text can be drawn over. */
  readonly interactive: boolean;
  /**
   * Shows these lines in place of those of the `draw` before, as many as the terminal has room for, on stderr; nothing where it is not
   * interactive. Whatever is written otherwise comes below them, and the next `draw` below that.
   */
  draw(lines: readonly string[]): void;
  /** What a person should know beside the result, on stderr. */
  note(text: string): void;
  /** A failure, on stderr: what happened, where, what to do. */
  problem(problem: Problem): void;
  /** Progress of long work: a bar on a terminal, nothing elsewhere. `fraction` in 0…1; 1 removes the bar. */
  progress(label: string, fraction: number): void;
  /** Styles for emphasis, for text that is shown by this terminal; plain text comes back unchanged where colour is off. */
  style(style: "good" | "bad" | "warn" | "dim" | "bold", text: string): string;
}

export interface TableLayout {
  readonly lines: readonly string[];
  /** Headers of the columns that there was no room for, in the order of the table. */
  readonly hidden: readonly string[];
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

/** Exit codes that scripts can trust; the same for all three programs. */
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
