import { maskSecrets } from "../platform/text/service-key.ts";

/** Longest piece of a file that a message repeats, in UTF-16 units. */
const SHOWN_LIMIT = 80;

/** A piece of a file made fit for a message: one line, bounded, without secrets and without what a terminal would obey. */
export function shown(text: string): string {
  const isLong = text.length > SHOWN_LIMIT;
  const cut = isLong ? text.slice(0, SHOWN_LIMIT - 1) : text;
  return escapeInvisible(maskSecrets(cut)) + (isLong ? "…" : "");
}

/** Control and formatting characters, unpaired surrogates and line separators written as escapes. */
export function escapeInvisible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`;
  });
}
