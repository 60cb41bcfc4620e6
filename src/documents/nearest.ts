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
  const found = nearestByDistance(normal, candidates) ?? onlyWhole(normal, candidates) ?? onlyStart(normal, candidates);
  return found?.word;
}

interface Candidate {
  readonly word: string;
  /** The word as it is compared. */
  readonly normal: string;
}

function nearestByDistance(written: string, candidates: readonly Candidate[]): Candidate | undefined {
  let best: Candidate | undefined;
  let bestSlips = Math.max(1, Math.floor(written.length / 3)) + 1;
  for (const candidate of candidates) {
    const slips = editDistance(written, candidate.normal, bestSlips);
    if (slips < bestSlips) {
      best = candidate;
      bestSlips = slips;
    }
  }
  return best;
}

/** `type_id` and `config_files` are parts of `robot_type_id` and `configuration_files`. */
function onlyWhole(written: string, candidates: readonly Candidate[]): Candidate | undefined {
  if (written.length < SHORTEST_PIECE) return undefined;
  const wholes = candidates.filter(({ normal }) => isPiece(written.split("_"), normal.split("_")));
  return wholes.length === 1 ? wholes[0] : undefined;
}

/** `degrees` and `percentage` begin with `deg` and `percent`. */
function onlyStart(written: string, candidates: readonly Candidate[]): Candidate | undefined {
  const starts = candidates.filter(({ normal }) => normal.length >= SHORTEST_START && written.startsWith(normal));
  return starts.length === 1 ? starts[0] : undefined;
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

/** The edit distance with swaps of neighbours (optimal string alignment); `limit` where the lengths alone differ by as much. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const replaced = at(row, j - 1) + (isSame ? 0 : 1);
      const swapped = isSwap ? at(before, j - 2) + 1 : replaced;
      next.push(Math.min(replaced, swapped, at(row, j) + 1, at(next, j - 1) + 1));
    }
    before = row;
    row = next;
  }
  return at(row, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
