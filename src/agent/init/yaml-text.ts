/**
 * Texts that need no quotes as a block-style value: words and web addresses that begin with a letter, a slash or a tilde and contain no
 * YAML syntax such as `: ` or ` #`.
 */
const PLAIN = /^[A-Za-z/~][\w/.@%+,-]*(?::\/\/[\w/.@%+-]+(?::\d+)?[\w/.@%+-]*)?(?: [\w/.@%+,-]+)*$/;
/** Words that YAML 1.2's core schema or YAML 1.1 tools do not read as strings. */
const MEANS_MORE = /^(?:~|null|true|false|yes|no|on|off|y|n)$/i;

/** A string as a YAML scalar, quoted when needed. */
export function yamlText(text: string): string {
  // A JSON string is a valid YAML scalar (YAML 1.2, section 1.3).
  return PLAIN.test(text) && !MEANS_MORE.test(text) ? text : JSON.stringify(text);
}
