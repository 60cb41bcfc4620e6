/** What is read of a stranger's text before it is looked at: enough for any sentence, too little to be slow. */
const READ_LIMIT = 8192;

/**
 * Text of a stranger (a service, a proxy, a captive portal) made fit for a terminal, a log line and a JSON document:
 * one line, no control or formatting characters (terminal escapes, bidirectional overrides), well-formed, at most
 * `limit` UTF-16 code units.
 */
export function printable(text: string, limit: number): string {
  const line = text
    .slice(0, READ_LIMIT)
    .toWellFormed()
    .replaceAll(/[\s\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}]/gu, "")
    .trim();
  if (line.length <= limit) return line;
  // Cutting between the halves of a surrogate pair would leave half a character.
  return `${line.slice(0, limit - 1).replace(/[\uD800-\uDBFF]$/u, "")}…`;
}
