/** Escapes invisible characters, `\u202e`, as JSON allows (RFC 8259 section 7); line feeds and tabs stay. */
export function visible(text: string): string {
  return PLAIN.test(text) ? text : text.replaceAll(invisible(), (found) => found.replaceAll(/[^]/g, escaped));
}

/** True for nearly every text. To compile the Unicode pattern takes 2 ms of a boot. */
const PLAIN = /^[\t\n\x20-\x7e]*$/;

/**
 * Matches characters that are invisible but can make one name look like another: control characters, bidirectional marks, and characters
 * without a glyph. After a letter that is not Latin a joiner or a variation selector is intended, as in Persian and in emoji.
 */
function invisible(): RegExp {
  return /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}](?<![\t\n]|[^\p{ASCII}\p{Script=Latin}][\p{Join_Control}\p{Variation_Selector}])/gu;
}

/** @param unit a UTF-16 code unit. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
