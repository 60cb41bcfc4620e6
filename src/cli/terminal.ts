import { styleText } from "node:util";

import { maskProblem } from "../documents/secrets.ts";
import type { Problem, Terminal } from "../platform/terminal.ts";
import { visible } from "../platform/text/visible.ts";
import { layOutTable } from "./table.ts";
import { cutToWidth, textWidth, wrapToWidth } from "../platform/text/text-width.ts";

export interface TerminalOptions {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The parts of a stream that a terminal needs. */
export interface Output {
  write(text: string): void;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;
/** The minimum time between redraws of the progress bar. */
const PROGRESS_PERIOD_MS = 100;
const BAR_CELLS = 24;

const STYLES = { good: "green", bad: "red", warn: "yellow", dim: "dim", bold: "bold" } as const;

const SGR_START = "\u001B[";

/** A terminal with the methods for the program around a command. */
export interface ProgramTerminal extends Terminal {
  /** Ends a `--json` run that failed: prints the first problem it showed, or `otherwise`, as the one document unless there was one. */
  concludeJson(otherwise: Problem): void;
  /** From now on, every line for people is completed, so that the commands it names work as printed. */
  completeHints(complete: (line: string) => string): void;
}

/** The renderer of the three programs, for width, colour, JSON and errors. */
export function createTerminal({ stdout, stderr, environment }: TerminalOptions): ProgramTerminal {
  // A random SGR parameter marks the sequences of `style` until they are written, so that foreign text cannot contain them. Not a secret.
  const seal = `${SGR_START}${Math.floor(Math.random() * Number.MAX_SAFE_INTEGER)};`;
  const style = createStyle(stdout, environment, seal);
  const styleOfErrors = createStyle(stderr, environment, seal);
  let drawnAtMs = Number.NEGATIVE_INFINITY;
  let isBarShown = false;
  let firstProblem: Problem | null = null;
  let isDocumentPrinted = false;
  let drawnLines = 0;
  let completeHint = (line: string) => line;
  const isInteractive = stdout.isTTY === true && stderr.isTTY === true && environment["TERM"] !== "dumb";

  /** Some terminals say 0 for "unknown". */
  function columns(): number {
    return stdout.columns === undefined || stdout.columns <= 0 ? DEFAULT_COLUMNS : stdout.columns;
  }

  /** The width for stdout; unlimited when it is not a terminal, so that other programs get one line each. */
  function room(): number {
    return stdout.isTTY === true ? columns() : Number.POSITIVE_INFINITY;
  }

  function clearBar(): void {
    if (isBarShown) stderr.write("\r\u001B[K");
    isBarShown = false;
  }

  function write(output: Output, text: string): void {
    clearBar();
    drawnLines = 0;
    output.write(`${text.replaceAll(seal, SGR_START)}\n`);
  }

  function line(output: Output, text: string): void {
    write(output, visibleLine(seal, text));
  }

  /** Lines that the terminal would wrap or scroll away cannot be redrawn. */
  function fitToScreen(lines: readonly string[]): readonly string[] {
    const room = Math.max(2, (stderr.rows === undefined || stderr.rows <= 0 ? DEFAULT_ROWS : stderr.rows) - 1);
    const shown = lines.length <= room ? lines : [...lines.slice(0, room - 1), `… ${lines.length - room + 1} more`];
    return shown.map((text) => cutToWidth(visibleLine(seal, text), columns()).replaceAll(seal, SGR_START));
  }

  function printJson(value: unknown, indent: number): void {
    clearBar();
    isDocumentPrinted = true;
    // The same document, because JSON can escape every character of a string.
    stdout.write(`${visible(JSON.stringify(value, null, indent))}\n`);
  }

  return {
    get columns() {
      return columns();
    },
    style,
    print: (text) => line(stdout, completeHint(text)),
    printText: (text) => write(stdout, visibleBut(seal, text)),
    heading(title, rest = "") {
      line(stdout, "");
      line(stdout, `${style("bold", title)}${rest}`);
    },
    sentence(text, first = "", rest = "") {
      const lines = wrapToWidth(visibleLine(seal, completeHint(text)), room() - textWidth(rest));
      for (const [index, each] of lines.entries()) line(stdout, `${index === 0 ? first : rest}${each}`);
    },
    json: (value) => printJson(value, 2),
    jsonLine: (value) => printJson(value, 0),
    table(headers, rows, prose, spare) {
      // Escaped before the layout, so that the measured width is the drawn width.
      const cells = rows.map((row) => row.map((cell) => visibleLine(seal, cell)));
      const { lines, hidden } = layOutTable(headers, cells, room(), prose, spare);
      for (const each of lines) line(stdout, each);
      return hidden;
    },
    isPiped: stdout.isTTY !== true,
    interactive: isInteractive,
    draw(lines) {
      if (!isInteractive) return;
      clearBar();
      const shown = fitToScreen(lines);
      const back = drawnLines === 0 ? "" : `\u001B[${drawnLines}A\r\u001B[J`;
      stderr.write(back + shown.map((text) => `${text}\n`).join(""));
      drawnLines = shown.length;
    },
    completeHint: (text) => completeHint(text),
    note: (text) => line(stderr, completeHint(text)),
    warning(what, fix) {
      line(stderr, `${styleOfErrors("warn", "warning")}: ${what}`);
      if (fix !== undefined) line(stderr, `  → ${completeHint(fix)}`);
    },
    problem(problem) {
      const shown = maskProblem(problem);
      firstProblem ??= shown;
      for (const text of renderProblem(shown, styleOfErrors)) line(stderr, completeHint(text));
    },
    completeHints(complete) {
      completeHint = complete;
    },
    concludeJson(otherwise) {
      if (!isDocumentPrinted) printJson({ problem: firstProblem ?? maskProblem(otherwise) }, 2);
    },
    progress(label, fraction) {
      if (stderr.isTTY !== true) return;
      if (fraction >= 1) {
        clearBar();
        return;
      }
      const nowMs = performance.now();
      if (nowMs - drawnAtMs < PROGRESS_PERIOD_MS) return;
      drawnAtMs = nowMs;
      isBarShown = true;
      const full = Math.round(fraction * BAR_CELLS);
      stderr.write(
        `\r\u001B[K${label} ${"█".repeat(full)}${"░".repeat(BAR_CELLS - full)} ${Math.floor(fraction * 100)} %`,
      );
    },
  };
}

/** Colour only on a terminal, and not with NO_COLOR (https://no-color.org) or on a dumb terminal. */
function createStyle(output: Output, environment: TerminalOptions["environment"], seal: string): Terminal["style"] {
  const isColoured = output.isTTY === true && (environment["NO_COLOR"] ?? "") === "" && environment["TERM"] !== "dumb";
  if (!isColoured) return (_name, text) => text;
  return (name, text) => {
    const [start = "", end = ""] = styleText(STYLES[name], "\n", { validateStream: false }).split("\n");
    return `${start.replace(SGR_START, seal)}${text}${end.replace(SGR_START, seal)}`;
  };
}

function renderProblem(problem: Problem, style: Terminal["style"]): readonly string[] {
  const { code, what, where, fix } = problem;
  const place = where === undefined || what.includes(where) ? "" : ` (${where})`;
  return [`${style("bad", "error")}: ${what}${place} [${code}]`, `  ${style("dim", "→")} ${fix}`];
}

/** Without line feeds and tabs, so that the text of others cannot begin a line that looks like one of ours. */
function visibleLine(seal: string, text: string): string {
  return visibleBut(seal, text.replaceAll(/[\n\t]/g, " "));
}

/** Names, paths and details come from other machines; they must not control the terminal, hide other text or imitate it. */
function visibleBut(seal: string, text: string): string {
  return text.split(seal).map(visible).join(seal);
}
