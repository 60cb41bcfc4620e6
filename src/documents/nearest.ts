import { distance } from "fastest-levenshtein";

/** Longer words are not typing mistakes, and slow to compare. */
const LONGEST_WORD = 64;

/** Shorter parts match too many words. */
const SHORTEST_PIECE = 4;

/** Shorter words are a prefix of too many words. */
const SHORTEST_START = 3;

/**
 * The word that was probably meant: the one with the smallest edit distance, if it is small for its length; else the only word that has
 * `written` as a part; else the only word that is a prefix of `written`.
 */
export function nearest(written: string, words: Iterable<string>): string | undefined {
  if (written.length > LONGEST_WORD) return undefined;
  const normal = normalize(written);
  const candidates = Array.from(words, (word) => ({ word, normal: normalize(word) }));
  const closest = candidates
    .map(({ word, normal: other }) => ({ word, slips: slips(normal, other) }))
    .filter(({ slips }) => slips <= Math.max(1, Math.floor(normal.length / 3)))
    .sort((a, b) => a.slips - b.slips)[0];
  // `type_id` and `config_files` are parts of `robot_type_id` and `configuration_files`.
  const wholes = candidates.filter((word) => isPiece(normal.split("_"), word.normal.split("_")));
  // `degrees` and `percentage` begin with `deg` and `percent`.
  const starts = candidates.filter((word) => word.normal.length >= SHORTEST_START && normal.startsWith(word.normal));
  return (closest ?? only(normal.length < SHORTEST_PIECE ? [] : wholes) ?? only(starts))?.word;
}

/** Edits that make one word of the other. Two neighbours that are swapped, and nothing else, are one slip. */
function slips(a: string, b: string): number {
  const edits = distance(a, b);
  if (edits !== 2 || a.length !== b.length) return edits;
  const at = Array.from(a).findIndex((letter, index) => letter !== b[index]);
  return a[at] === b[at + 1] && a[at + 1] === b[at] ? 1 : edits;
}

function only<T>(found: readonly T[]): T | undefined {
  return found.length === 1 ? found[0] : undefined;
}

/** True when each part is a prefix of a part of the whole, in order; the whole may have more parts. */
function isPiece(parts: readonly string[], whole: readonly string[]): boolean {
  let found = 0;
  for (const part of whole) {
    const wanted = parts[found];
    if (wanted !== undefined && wanted !== "" && part.startsWith(wanted)) found += 1;
  }
  return found === parts.length;
}

/** Makes `keyFile`, `key-file` and `KEY FILE` equal. */
function normalize(word: string): string {
  return word
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replaceAll(/[-. ]/g, "_");
}
