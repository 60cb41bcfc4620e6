/** What must not stand in a file that is read by many and shown in messages: SPEC section 6.1. */
import type { Problem } from "../platform/terminal.ts";
import { maskSecrets, serviceKeyOffset } from "../platform/text/service-key.ts";

/** Words that make a key the name of a secret, wherever they stand between word ends. */
const SECRET_WORDS =
  /(?:^|[^a-z0-9])(?:token|password|passwd|passphrase|secret|credentials?|bearer|apikey|api_key|private_key|access_key)(?:[^a-z0-9]|$)/;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;
const PLACEHOLDER = /^(?:replace[_-].*|(?:todo|tbd|fixme|change[_-]?me)(?:[^a-z0-9].*)?|<.*>)$/i;

/** Longer keys are cut before they are looked at; no name of a secret is that long. */
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

/** Where a text holds a secret value; undefined when it holds none. */
export function secretOffset(text: string): number | undefined {
  const offsets = [serviceKeyOffset(text), text.includes("PRIVATE KEY") ? text.search(PRIVATE_KEY) : -1];
  const found = offsets.filter((offset) => offset >= 0);
  return found.length === 0 ? undefined : Math.min(...found);
}

/** True for what a template leaves to be filled in: SPEC section 6.2. */
export function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value.trim());
}

/** A failure made fit to be shown: a key that somebody gave in place of a path or a name is in no terminal and no log because of us. */
export function maskProblem(problem: Problem): Problem {
  const { what, where } = problem;
  return { ...problem, what: maskSecrets(what), ...(where === undefined ? {} : { where: maskSecrets(where) }) };
}

/** A line of a file made fit to be shown: without what may be a key, a password or the inside of a private key. */
export function maskLine(line: string): string {
  const masked = maskSecrets(line)
    .replaceAll(/(:\/\/)[^/@\s]*@/g, "$1…@")
    .replaceAll(/[A-Za-z0-9+/=]{60,}/g, "…");
  // What stands behind the name of a secret is one, however it is written.
  for (const match of masked.matchAll(names())) {
    if (isSecretKey(match[0])) return `${masked.slice(0, match.index + match[0].length)}: …`;
  }
  return masked;
}

/** Names before a colon or equals sign. Every repetition is bounded: a hostile line of a megabyte must not take long. */
function names(): RegExp {
  return /(?<![\p{L}\p{N}_.-])[\p{L}\p{N}_.-]{1,100}(?=["']?\s{0,10}[:=])/gu;
}
