/**
 * Texts that mean themselves without quotes as a value in block style: words and web addresses that begin with a letter, a slash or a
 * tilde and hold nothing that YAML gives a meaning, such as `: ` or ` #`.
 */
const PLAIN = /^[A-Za-z/~][\w/.@%+,-]*(?::\/\/[\w/.@%+-]+(?::\d+)?[\w/.@%+-]*)?(?: [\w/.@%+,-]+)*$/;
/** What YAML 1.2's core schema takes for something else; YAML 1.1 tools take the rest of them so. */
const MEANS_MORE = /^(?:~|null|true|false|yes|no|on|off|y|n)$/i;

/** A text as a YAML scalar that reads back as itself. */
export function yamlText(text: string): string {
  // A double-quoted JSON text is a YAML one (YAML 1.2, section 1.3).
  return PLAIN.test(text) && !MEANS_MORE.test(text) ? text : JSON.stringify(text);
}
