import type { Cursor } from "./cursor.ts";
import { afterBreak, isBlank, isBreak, isMarker, lineEnd, spaces } from "./cursor.ts";

interface Header {
  readonly isFolded: boolean;
  readonly chomping: "" | "-" | "+";
  /** Indentation written after the indicator; 0 for: that of the first line. */
  readonly indentation: number;
}

/** Reads a text after `|` or `>` (YAML 1.2.2, section 8.1). Its lines are indented by more than `parent`. */
export function blockText(cursor: Cursor, parent: number): string {
  const header = readHeader(cursor);
  if (header === null) return "";
  const indentation =
    header.indentation > 0 ? Math.max(parent, 0) + header.indentation : firstIndentation(cursor, parent);
  return readLines(cursor, header, indentation);
}

function readHeader(cursor: Cursor): Header | null {
  const { text, offset: start } = cursor;
  const match = /[|>](?:([1-9])([-+]?)|([-+]?)([1-9]?))/y;
  match.lastIndex = start;
  const found = match.exec(text);
  const [all = "|", digit, after, before, second] = found ?? [];
  cursor.offset = start + all.length;
  const isSeparated = cursor.skipBlanks();
  if (cursor.character === "#" && isSeparated) cursor.offset = lineEnd(text, cursor.offset);
  const unit = cursor.peek();
  if (!Number.isNaN(unit) && !isBreak(unit)) {
    cursor.fail(cursor.offset, `the text after ${all.charAt(0)} starts on the next line`);
    return null;
  }
  if (isBreak(unit)) cursor.offset = afterBreak(text, cursor.offset);
  cursor.line_start = cursor.offset;
  const chomping = after || before || "";
  return {
    isFolded: all.startsWith(">"),
    chomping: chomping === "-" || chomping === "+" ? chomping : "",
    indentation: Number(digit ?? (second || 0)),
  };
}

/** The indentation of the first line that is not empty; of a text without one, that of its longest line. */
function firstIndentation(cursor: Cursor, parent: number): number {
  const { text } = cursor;
  let offset = cursor.offset;
  let longest = 0;
  while (offset < text.length) {
    const indent = spaces(text, offset, text.length);
    const end = offset + indent;
    if (end < text.length && !isBreak(text.charCodeAt(end))) {
      if (indent <= parent || isMarker(text, offset, offset)) break;
      if (longest > indent) cursor.fail(offset, "the empty lines before this one are indented more than it is");
      return indent;
    }
    longest = Math.max(longest, indent);
    offset = end < text.length ? afterBreak(text, end) : end;
  }
  return Math.max(longest, parent + 1);
}

function readLines(cursor: Cursor, header: Header, indentation: number): string {
  const { text } = cursor;
  let value = "";
  /** Line ends since the last line with text; before the first one, the empty lines. */
  let breaks = 0;
  let isAfterText = false;
  let isAfterIndented = false;
  while (cursor.offset < text.length) {
    const start = cursor.offset;
    const indent = spaces(text, start, start + indentation);
    const unit = text.charCodeAt(start + indent);
    const isEmpty = Number.isNaN(unit) || isBreak(unit);
    const end = lineEnd(text, start);
    if (!isEmpty && (indent < indentation || isMarker(text, start, start))) {
      // To the eye this line is an empty one of the text; to YAML it is none.
      if (isTabs(text, start + indent, end))
        cursor.fail(start + indent, "this line looks empty but holds a tab; delete it");
      break;
    }
    if (isEmpty) {
      breaks += 1;
    } else {
      // Lines that are indented further keep their line ends when the others are folded.
      const isIndented = isBlank(unit);
      const isFoldable = header.isFolded && isAfterText && !isIndented && !isAfterIndented;
      if (isFoldable) value += breaks === 1 ? " " : "\n".repeat(breaks - 1);
      else value += "\n".repeat(breaks);
      value += text.slice(start + indentation, end);
      isAfterText = true;
      isAfterIndented = isIndented;
      breaks = 1;
    }
    cursor.offset = end < text.length ? afterBreak(text, end) : end;
    cursor.line_start = cursor.offset;
  }
  if (header.chomping === "-") return value;
  if (header.chomping === "+") return value + "\n".repeat(breaks);
  return isAfterText ? `${value}\n` : value;
}

function isTabs(text: string, start: number, end: number): boolean {
  let offset = start;
  while (offset < end && isBlank(text.charCodeAt(offset))) offset += 1;
  return offset === end && offset > start;
}
