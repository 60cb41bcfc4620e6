import type { Cursor } from "./cursor.ts";
import { afterBreak, isBlank, isBlankOrBreakOrEnd, isBreak, isFlowIndicator, isMarker, spaces } from "./cursor.ts";

/** Characters that no plain text starts with. `-`, `?` and `:` may, before anything but white space. */
const INDICATORS = ",[]{}#&*!|>'\"%@`";

/** Escapes of one character in double quotes, YAML 1.2.2 section 5.7. */
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["0", "\0"],
  ["a", "\x07"],
  ["b", "\b"],
  ["t", "\t"],
  ["\t", "\t"],
  ["n", "\n"],
  ["v", "\v"],
  ["f", "\f"],
  ["r", "\r"],
  ["e", "\x1b"],
  [" ", " "],
  ['"', '"'],
  ["/", "/"],
  ["\\", "\\"],
  ["N", "\x85"],
  ["_", "\xa0"],
  ["L", "\u2028"],
  ["P", "\u2029"],
]);
/** Escapes of a code point, with their number of hexadecimal digits. */
const CODE_POINT_ESCAPES: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["u", 4],
  ["U", 8],
]);

const UNENDED = "the quoted text that starts here does not end";

/** True when a plain text may start here; otherwise the failure says why not. */
export function startsPlain(cursor: Cursor, isFlow: boolean): boolean {
  const { character } = cursor;
  const next = cursor.peek(1);
  if (!INDICATORS.includes(character)) {
    if (!"-?:".includes(character)) return true;
    if (!isBlankOrBreakOrEnd(next) && !(isFlow && isFlowIndicator(next))) return true;
  }
  cursor.fail(cursor.offset, `a text that starts with ${character} needs quotes`);
  return false;
}

/** Reads a plain text to the end of its line and leaves the cursor behind its last character. */
export function plainLine(cursor: Cursor, isFlow: boolean): string {
  const { text, offset: start } = cursor;
  let offset = start;
  let end = start;
  for (;;) {
    const unit = text.charCodeAt(offset);
    if (isBlank(unit)) {
      offset += 1;
      continue;
    }
    if (Number.isNaN(unit) || isBreak(unit)) break;
    // `:` before white space ends a key, `#` after white space starts a comment.
    if (unit === 58) {
      const next = text.charCodeAt(offset + 1);
      if (isBlankOrBreakOrEnd(next) || (isFlow && isFlowIndicator(next))) break;
    }
    if (unit === 35 && offset > end) break;
    if (isFlow && isFlowIndicator(unit)) break;
    if (unit === 0xfeff) {
      cursor.fail(offset, "a byte order mark inside the text; delete it");
      return "";
    }
    offset += 1;
    end = offset;
  }
  cursor.offset = end;
  return text.slice(start, end);
}

/** Reads the lines on which a plain text goes on: those indented by more than `parent`. */
export function plainContinuation(cursor: Cursor, first: string, parent: number, isFlow: boolean): string {
  let value = first;
  for (;;) {
    const next = nextLine(cursor, cursor.offset);
    if (next === null || next.breaks === 0 || next.indent <= parent || next.isMarker) return value;
    const { offset } = next;
    const unit = cursor.text.charCodeAt(offset);
    if (unit === 35) return value;
    if (isFlow && (isFlowIndicator(unit) || endsKey(cursor.text, offset))) return value;
    cursor.offset = offset;
    cursor.line_start = next.line_start;
    const line = plainLine(cursor, isFlow);
    if (!isFlow && isKeyEnd(cursor)) {
      cursor.fail(offset, "this line reads as a part of the text above; indent it as the other keys are");
    }
    value += fold(next.breaks) + line;
  }
}

/** Reads a text in quotes. Its later lines are indented by more than `parent`. */
export function quotedText(cursor: Cursor, parent: number): string {
  const { text, offset: start } = cursor;
  const quote = text.charCodeAt(start);
  const isDouble = quote === 34;
  let value = "";
  let offset = start + 1;
  let chunk = offset;
  for (;;) {
    const unit = text.charCodeAt(offset);
    if (unit === quote) {
      value += text.slice(chunk, offset);
      // Two single quotes stand for one.
      if (isDouble || text.charCodeAt(offset + 1) !== quote) break;
      value += "'";
      offset += 2;
      chunk = offset;
    } else if (isDouble && unit === 92) {
      value += text.slice(chunk, offset);
      if (isBreak(text.charCodeAt(offset + 1))) {
        // An escaped line end joins without a space, but empty lines after it count.
        const next = foldLines(cursor, start, offset + 1, parent);
        if (next === null) return "";
        value += "\n".repeat(next.breaks - 1);
        offset = next.offset;
      } else {
        const escaped = unescape(cursor, offset);
        if (escaped === null) return "";
        value += escaped.value;
        offset = escaped.offset;
      }
      chunk = offset;
    } else if (isBreak(unit)) {
      let end = offset;
      while (end > chunk && isBlank(text.charCodeAt(end - 1))) end -= 1;
      value += text.slice(chunk, end);
      const next = foldLines(cursor, start, offset, parent);
      if (next === null) return "";
      value += fold(next.breaks);
      offset = next.offset;
      chunk = offset;
    } else if (Number.isNaN(unit)) {
      cursor.fail(start, UNENDED);
      return "";
    } else {
      offset += 1;
    }
  }
  cursor.offset = offset + 1;
  return value;
}

function unescape(cursor: Cursor, offset: number): { readonly value: string; readonly offset: number } | null {
  const { text } = cursor;
  const letter = text.charAt(offset + 1);
  const simple = ESCAPES.get(letter);
  if (simple !== undefined) return { value: simple, offset: offset + 2 };
  const digits = CODE_POINT_ESCAPES.get(letter) ?? 0;
  const end = offset + 2 + digits;
  const hex = text.slice(offset + 2, end);
  if (digits > 0 && hex.length === digits && /^[0-9a-fA-F]+$/.test(hex)) {
    const code_point = Number.parseInt(hex, 16);
    if (code_point <= 0x10ffff) return { value: String.fromCodePoint(code_point), offset: end };
  }
  cursor.fail(offset, "not an escape of YAML; write a backslash twice, or use single quotes");
  return null;
}

/** From the end of a line in quotes to the next text, with the checks that text needs. */
function foldLines(cursor: Cursor, start: number, offset: number, parent: number): NextLine | null {
  const next = nextLine(cursor, offset);
  if (next === null) {
    cursor.fail(start, UNENDED);
    return null;
  }
  if (next.isMarker || next.indent <= parent) {
    cursor.fail(
      next.offset,
      "this line belongs to a quoted text and must be indented further; is a quote missing above?",
    );
    return null;
  }
  cursor.line_start = next.line_start;
  return next;
}

interface NextLine {
  /** Line ends passed on the way. */
  readonly breaks: number;
  /** The next character that is not white space. */
  readonly offset: number;
  readonly line_start: number;
  /** Spaces the line begins with. */
  readonly indent: number;
  readonly isMarker: boolean;
}

/** Moves over white space and line ends, without comments; null at the end of the text. */
function nextLine(cursor: Cursor, from: number): NextLine | null {
  const { text } = cursor;
  let { line_start } = cursor;
  let breaks = 0;
  let offset = from;
  for (;;) {
    const unit = text.charCodeAt(offset);
    if (isBlank(unit)) {
      offset += 1;
    } else if (isBreak(unit)) {
      offset = afterBreak(text, offset);
      line_start = offset;
      breaks += 1;
    } else if (Number.isNaN(unit)) {
      return null;
    } else {
      const indent = spaces(text, line_start, offset);
      return { breaks, offset, line_start, indent, isMarker: isMarker(text, offset, line_start) };
    }
  }
}

/** One line end becomes a space; each further one stays (YAML 1.2.2, section 6.5). */
function fold(breaks: number): string {
  return breaks === 1 ? " " : "\n".repeat(breaks - 1);
}

function endsKey(text: string, offset: number): boolean {
  const next = text.charCodeAt(offset + 1);
  return text.charCodeAt(offset) === 58 && (isBlankOrBreakOrEnd(next) || isFlowIndicator(next));
}

function isKeyEnd(cursor: Cursor): boolean {
  let offset = cursor.offset;
  while (isBlank(cursor.text.charCodeAt(offset))) offset += 1;
  return cursor.text.charCodeAt(offset) === 58 && isBlankOrBreakOrEnd(cursor.text.charCodeAt(offset + 1));
}
