/**
 * PostgreSQL's text holds every character but U+0000, which what clients ask for may hold, such as a path with %00: it is
 * kept as two others, so that such a text is stored and found like any other.
 *
 * The mark is a noncharacter that no text has a reason for (Unicode 23.7); where one has it all the same, it is doubled up.
 */
const MARK = "\u{10FFFF}";
const NUL = "\u0000";

/** The text as PostgreSQL can keep it. */
export function toPostgresText(text: string): string {
  if (!text.includes(NUL) && !text.includes(MARK)) return text;
  return text.replaceAll(MARK, `${MARK}1`).replaceAll(NUL, `${MARK}0`);
}

/** The text as it was before `toPostgresText`. */
export function fromPostgresText(text: string): string {
  if (!text.includes(MARK)) return text;
  return text.replaceAll(`${MARK}0`, NUL).replaceAll(`${MARK}1`, MARK);
}
