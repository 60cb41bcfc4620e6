/** Detects secrets, which must not be in a file that many can read and messages show: SPEC section 6.1. */
import type { Problem } from "../platform/terminal.ts";
import { maskSecrets, serviceKeyOffset } from "../api/wire/service-key.ts";

/** Words that make a key the name of a secret, at word boundaries. */
const SECRET_WORDS =
  /(?:^|[^a-z0-9])(?:token|password|passwd|passphrase|secret|credentials?|bearer|apikey|api_key|private_key|access_key)(?:[^a-z0-9]|$)/;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;
const PLACEHOLDER = /^(?:replace[_-].*|(?:todo|tbd|fixme|change[_-]?me)(?:[^a-z0-9].*)?|<.*>)$/i;

/** Longer keys are cut before the check; no name of a secret is that long. */
const LONGEST_KEY = 1024;

export function isSecretKey(key: string): boolean {
  const words = key
    .slice(0, LONGEST_KEY)
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replaceAll(/[-. ]/g, "_");
  return SECRET_WORDS.test(words) || isSecretValue(key);
}

export function isSecretValue(value: string): boolean {
  return secretOffset(value) !== undefined;
}

/** The offset of a secret value in a text; undefined without one. */
export function secretOffset(text: string): number | undefined {
  const offsets = [serviceKeyOffset(text), text.includes("PRIVATE KEY") ? text.search(PRIVATE_KEY) : -1];
  const found = offsets.filter((offset) => offset >= 0);
  return found.length === 0 ? undefined : Math.min(...found);
}

/** Where something that looks like a secret stands in a text, and what it is. */
export interface FoundSecret {
  readonly offset: number;
  /** `a key`, `the value of wifi_password`. */
  readonly what: string;
}

/**
 * The first thing in a file of any format that looks like a secret: a key, an address with a password, or a value whose key names a secret,
 * as JSON, YAML and ini files have it. Doubtful ones count, because the file may leave this computer. Undefined for none.
 */
export function findSecret(text: string): FoundSecret | undefined {
  const named = text
    .matchAll(names())
    .find(({ 0: name, index }) => isSecretKey(name) && hasValue(text, index, index + name.length));
  const found = [
    { offset: secretOffset(text) ?? -1, what: "a key" },
    { offset: text.search(QUOTED_ADDRESS_WITH_CREDENTIALS), what: "an address with a user or password" },
    { offset: named?.index ?? -1, what: `the value of ${maskSecrets(named?.[0] ?? "")}` },
  ];
  return found.filter(({ offset }) => offset >= 0).toSorted((one, other) => one.offset - other.offset)[0];
}

/** Ends where a text in quotes or a list does: minified JSON has no white space. */
const QUOTED_ADDRESS_WITH_CREDENTIALS = /:\/\/[^/@\s"',;]+@/;
/** What may stand behind a key in place of a value, up to the end of the value. */
const NO_VALUE = /["']?\s{0,10}[:=][ \t]*(?:null|~|true|false|""|'')?[ \t]*(?:[,;}\]#\r\n]|$)/iy;
/** The line behind one that ends with a key, blank lines and comments aside: its indentation, and its first character. */
const NEXT_LINE = /[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*([ \t]*)([^\s#])/y;
const EMPTY = /["']?\s{0,10}[:=][ \t]*(?:#[^\n]*)?\r?(?:\n|$)/y;

/** Whether there is a value behind a name, in its line or in the lines below. */
function hasValue(text: string, start: number, end: number): boolean {
  if (!startsAt(NO_VALUE, text, end)) return true;
  if (!startsAt(EMPTY, text, end)) return false;
  NEXT_LINE.lastIndex = end;
  const [, indentation = "", first = ""] = NEXT_LINE.exec(text) ?? [];
  const column = start - text.lastIndexOf("\n", start) - 1;
  return indentation.length > column || (indentation.length === column && /["'-]/.test(first));
}

function startsAt(pattern: RegExp, text: string, offset: number): boolean {
  pattern.lastIndex = offset;
  return pattern.test(text);
}

/** True for a placeholder of a template: SPEC section 6.2. */
export function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value.trim());
}

/** Masks secrets in a problem: an operator may have passed a key instead of a path or name, which must not reach terminals and logs. */
export function maskProblem({ code, what, where, fix }: Problem): Problem {
  return { code, what: maskSecrets(what), ...(where === undefined ? {} : { where: maskSecrets(where) }), fix };
}

/** Masks what may be a key, a password or part of a private key in a line of a file. */
export function maskLine(line: string): string {
  const masked = maskSecrets(line)
    .replaceAll(/(:\/\/)[^/@\s]*@/g, "$1…@")
    .replaceAll(/[A-Za-z0-9+/=]{60,}/g, "…");
  // Everything after the name of a secret counts as secret.
  for (const match of masked.matchAll(names())) {
    if (isSecretKey(match[0])) return `${masked.slice(0, match.index + match[0].length)}: …`;
  }
  return masked;
}

/** Matches names before a colon or equals sign. Every repetition is bounded, so that a hostile line of a megabyte is fast too. */
function names(): RegExp {
  return /(?<![\p{L}\p{N}_.-])[\p{L}\p{N}_.-]{1,100}(?=["']?\s{0,10}[:=])/gu;
}

const ADDRESS_WITH_CREDENTIALS = /:\/\/[^/@\s]+@/;

/** Whether a text, which every operator of the organization can read, contains a URL with a user name or password. */
export function holdsCredentials(text: string): boolean {
  return ADDRESS_WITH_CREDENTIALS.test(text);
}
