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
