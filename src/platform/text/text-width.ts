/** SGR sequences (ECMA-48) for emphasis, with width 0. */
// oxlint-disable-next-line no-control-regex -- an escape sequence begins with a control character
const EMPHASIS = /\u001B\[[0-9;]*m/g;
// oxlint-disable-next-line no-control-regex -- everything that is not printable ASCII needs a closer look
const BEYOND_ASCII = /[^\u0020-\u007E]/;

/** Characters that terminals draw two columns wide (Unicode Standard Annex 11), approximately; without halfwidth forms. */
const WIDE =
  /^(?![\uFF61-\uFFDC])[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hangul}\p{Regional_Indicator}\u3000-\u303E\u3041-\u33FF\uFE30-\uFE6B\uFF01-\uFF60\uFFE0-\uFFE6]|\uFE0F/u;
const INVISIBLE = /^[\p{Mark}\p{Cf}\p{Cc}]+$/u;

let segmenter: Intl.Segmenter | undefined;

/** The width of a text in terminal columns. */
export function textWidth(text: string): number {
  const plain = withoutEmphasis(text);
  if (!BEYOND_ASCII.test(plain)) return plain.length;
  return characters(plain).reduce((total, character) => total + characterWidth(character), 0);
}

/** Cuts a text to `columns`, with an ellipsis; a cut text loses its emphasis. */
export function cutToWidth(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  let cut = "";
  let used = 0;
  for (const character of characters(withoutEmphasis(text))) {
    used += characterWidth(character);
    if (used > columns - 1) break;
    cut += character;
  }
  return `${cut}…`;
}

/** Wraps a text at blanks to lines of at most `columns`; longer words are not broken. */
export function wrapToWidth(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    const isTooLong = line !== "" && textWidth(longer) > columns;
    if (isTooLong) lines.push(line.trimEnd());
    line = isTooLong ? word : longer;
  }
  return [...lines, line];
}

/** Pads a text with blanks to `columns`. */
export function padToWidth(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - textWidth(text)));
}

function withoutEmphasis(text: string): string {
  return text.includes("\u001B") ? text.replaceAll(EMPHASIS, "") : text;
}

/** Splits into user-perceived characters: a letter with its accents, a family of emoji. */
function characters(text: string): readonly string[] {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** Of one user-perceived character. */
function characterWidth(character: string): number {
  if (INVISIBLE.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
