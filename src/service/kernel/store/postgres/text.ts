/**
 * PostgreSQL's text cannot hold U+0000, which clients may send, for example as %00 in a path. It is stored as an escape sequence of two
 * other characters, so that such a text is stored and found like any other.
 *
 * The escape character is a noncharacter, which texts do not normally contain (Unicode 23.7); a text that does contains it twice.
 */
const MARK = "\u{10FFFF}";
const NUL = "\u0000";

/** Escapes a text for PostgreSQL. */
export function toPostgresText(text: string): string {
  if (!text.includes(NUL) && !text.includes(MARK)) return text;
  return text.replaceAll(MARK, `${MARK}1`).replaceAll(NUL, `${MARK}0`);
}

/** The inverse of `toPostgresText`. */
export function fromPostgresText(text: string): string {
  if (!text.includes(MARK)) return text;
  return text.replaceAll(`${MARK}0`, NUL).replaceAll(`${MARK}1`, MARK);
}
