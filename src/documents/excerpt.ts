import { characterWidth } from "../platform/text/text-width.ts";
import type { Finding } from "./findings.ts";
import { maskLine } from "./secrets.ts";
import { escapeInvisible } from "./texts.ts";

export interface ExcerptOptions {
  /** The file's path as the operator knows it. */
  readonly path: string;
  /** Its content; null when it could not be read. */
  readonly bytes: Uint8Array | null;
  /** Terminal columns that the source line may take. */
  readonly columns: number;
}

/** Excerpts show only lines in the first MiB of a file. */
const LOOK_LIMIT_BYTES = 1_048_576;

/**
 * Renders findings as lines, for each: `path:line:column: error id: message`, the source line, and a caret below the position.
 *
 * The source line is left out where there is none, and where it may hold a secret. Terminal control characters are escaped.
 */
export function renderFindings(findings: readonly Finding[], options: ExcerptOptions): readonly string[] {
  const secretLines = new Set(findings.filter(({ id }) => id.startsWith("secret_")).map(({ line }) => line));
  const lines = options.bytes === null ? [] : sourceLines(options.bytes);
  return findings.flatMap((finding) =>
    render(finding, secretLines.has(finding.line) ? "" : lines[finding.line - 1], options),
  );
}

function render(
  { line, column, severity, id, message }: Finding,
  source: string | undefined,
  options: ExcerptOptions,
): readonly string[] {
  const head = `${escapeInvisible(options.path)}:${line}:${column}: ${severity} ${id}: ${escapeInvisible(message)}`;
  if (source === undefined || source.trim() === "") return [head];
  return [head, ...pointAt(source, column - 1, Math.max(options.columns - 4, 20))];
}

function sourceLines(bytes: Uint8Array): readonly string[] {
  return new TextDecoder("utf-8").decode(bytes.subarray(0, LOOK_LIMIT_BYTES)).split(/\r?\n/);
}

/** The line, cut to `width` columns around a code point of it, and the line with the caret. */
function pointAt(source: string, index: number, width: number): readonly string[] {
  const cells = drawCells(source);
  const masked = maskLine(source);
  // Masking shifts the rest of the line, so the excerpt ends at the mask.
  const shown = masked === source ? cells : [...cells.slice(0, commonStart(source, masked)), MASK];
  const target = Math.min(index, cells.length);
  if (target > shown.length) return [];
  const { from, to } = windowAround(shown, target, width);
  const before = shown.slice(from, target);
  const lead = from > 0 ? "…" : "";
  const tail = to < shown.length ? "…" : "";
  const line =
    lead +
    shown
      .slice(from, to)
      .map((cell) => cell.text)
      .join("") +
    tail;
  const indent = lead.length + before.reduce((total, cell) => total + cell.width, 0);
  return [`    ${line}`, `    ${" ".repeat(indent)}^`];
}

interface Cell {
  readonly text: string;
  /** Terminal columns. */
  readonly width: number;
}

const MASK: Cell = { text: "…", width: 1 };

/** One cell per code point. */
function drawCells(source: string): readonly Cell[] {
  return Array.from(source, (character) => {
    if (character === "\t") return { text: "  ", width: 2 };
    const text = escapeInvisible(character);
    return { text, width: text === character ? characterWidth(character) : text.length };
  });
}

/** As many cells around `target` as fit, two thirds of them before it. */
function windowAround(
  cells: readonly Cell[],
  target: number,
  width: number,
): { readonly from: number; readonly to: number } {
  const total = cells.reduce((sum, cell) => sum + cell.width, 0);
  if (total <= width) return { from: 0, to: cells.length };
  const room = width - 2;
  let from = target;
  let used = 0;
  while (from > 0 && used + (cells[from - 1]?.width ?? 0) <= (room * 2) / 3) {
    from -= 1;
    used += cells[from]?.width ?? 0;
  }
  let to = target;
  while (to < cells.length && used + (cells[to]?.width ?? 0) <= room) {
    used += cells[to]?.width ?? 0;
    to += 1;
  }
  return { from, to };
}

/** Length of the common prefix, in code points. */
function commonStart(a: string, b: string): number {
  const other = Array.from(b);
  const differs = Array.from(a).findIndex((character, index) => character !== other[index]);
  return differs < 0 ? Math.min(a.length, other.length) : differs;
}
