import { cutToWidth, textWidth } from "../platform/text/text-width.ts";
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
  const secretLines = new Set(
    findings.filter(({ id }) => /^(?:secret_|shared_secret$)/.test(id)).map(({ line }) => line),
  );
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
  const characters = Array.from(source);
  const masked = maskLine(source);
  // Masking shifts the rest of the line, so the excerpt ends at the mask.
  const end = masked === source ? characters.length : commonStart(characters, Array.from(masked));
  const at = Math.min(index, characters.length);
  if (at > end) return [];
  const before = drawn(characters.slice(Math.max(0, at - width - 1), at));
  const rest = drawn(characters.slice(at, Math.min(end, at + width + 1))) + (end < characters.length ? "…" : "");
  const room = Math.floor((width * 2) / 3);
  const isWhole = textWidth(before) <= room || textWidth(before + rest) <= width;
  const lead = isWhole
    ? before
    : `…${Array.from(before)
        .slice(1 - room)
        .join("")}`;
  const columns = textWidth(lead);
  return [`    ${lead}${cutToWidth(rest, width - columns)}`, `    ${" ".repeat(columns)}^`];
}

function drawn(characters: readonly string[]): string {
  return escapeInvisible(characters.join("").replaceAll("\t", "  "));
}

function commonStart(characters: readonly string[], others: readonly string[]): number {
  const differs = characters.findIndex((character, index) => character !== others[index]);
  return differs < 0 ? characters.length : differs;
}
