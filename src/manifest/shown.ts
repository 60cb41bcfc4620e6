import { maskSecrets } from "../api/wire/service-key.ts";

/** The longest text from a file in a message, in UTF-16 units. */
const SHOWN_LIMIT = 80;

/** Prepares text from a file for a message: one bounded line, secrets masked, control characters escaped. */
export function shown(text: string): string {
  // Before the cut, which may leave too little of a secret to recognize it.
  const masked = maskSecrets(text);
  const isLong = masked.length > SHOWN_LIMIT;
  return escapeInvisible(isLong ? masked.slice(0, SHOWN_LIMIT - 1) : masked) + (isLong ? "…" : "");
}

/** Escapes control and formatting characters, unpaired surrogates and line separators. */
export function escapeInvisible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`;
  });
}
