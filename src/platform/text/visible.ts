/** A text with what is unseen in it written out, `\u202e`, as JSON may have it (RFC 8259 section 7); line feeds and tabs stay. */
export function visible(text: string): string {
  return PLAIN.test(text) ? text : text.replaceAll(unseen(), (found) => found.replaceAll(/[^]/g, escaped));
}

/** Nearly every text. The pattern that knows Unicode takes 2 ms of a boot to make. */
const PLAIN = /^[\t\n\x20-\x7e]*$/;

/**
 * What nobody sees, though it makes one name look like another: control characters, marks that turn the direction of writing, and
 * characters without a shape. A joiner or a choice of shape is meant after what is not Latin, as in Persian and in emoji.
 */
function unseen(): RegExp {
  return /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}](?<![\t\n]|[^\p{ASCII}\p{Script=Latin}][\p{Join_Control}\p{Variation_Selector}])/gu;
}

/** @param unit of UTF-16. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
