/** Longer texts are cut before they are cleaned, which limits the time. */
const READ_LIMIT = 8192;

/**
 * Makes an untrusted text (of a service, a proxy, a captive portal) safe for a terminal, a log line and a JSON document:
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
  // Do not cut a surrogate pair.
  return `${line.slice(0, limit - 1).replace(/[\uD800-\uDBFF]$/u, "")}…`;
}
