/** Texts of files as messages show them, and their lengths. */
import { maskSecrets } from "../api/wire/service-key.ts";
import type { Position } from "./findings.ts";

/** The longest text from a file in a message, in UTF-16 units. */
const SHOWN_LIMIT = 80;
/** Longest path in a message. The end of a longer one is kept, because the file's name says the most. */
const PATH_LIMIT = 256;

/** Prepares text from a file for a message: one bounded line, secrets masked, control characters escaped. */
export function shown(text: string): string {
  return fit(text, SHOWN_LIMIT);
}

export function shownPath(path: string): string {
  return fit(path, PATH_LIMIT);
}

function fit(text: string, limit: number): string {
  // Before the cut, which may leave too little of a secret to recognize it.
  const masked = maskSecrets(text);
  const isLong = masked.length > limit;
  return escapeInvisible(isLong ? masked.slice(0, limit - 1) : masked) + (isLong ? "…" : "");
}

/** Escapes control and formatting characters, unpaired surrogates and line separators. */
export function escapeInvisible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`;
  });
}

/** Line and column of a UTF-16 offset, from 1, in code points; a byte order mark has no width. */
export function positionIn(text: string, offset: number): Position {
  const lines = text.slice(0, offset).split("\n");
  const before = lines.at(-1) ?? "";
  const mark = lines.length === 1 && before.startsWith("\uFEFF") ? 1 : 0;
  return { line: lines.length, column: codePoints(before) - mark + 1 };
}

/** Number of code points of `text` between two UTF-16 offsets; an unpaired surrogate counts as one. */
export function codePoints(text: string, start = 0, end = text.length): number {
  let count = 0;
  for (let offset = start; offset < end; offset += 1) {
    const isPair = (text.charCodeAt(offset) & 0xfc00) === 0xd800 && (text.charCodeAt(offset + 1) & 0xfc00) === 0xdc00;
    if (isPair) offset += 1;
    count += 1;
  }
  return count;
}
