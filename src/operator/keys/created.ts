/** The form of a key in the service document: `sk_`, a marker of the service, `_`, and the rest. Shortened ones have other characters. */
const KEY = /^sk_[^_\s]+_[^\s*.…]+$/;

/**
 * The key in the answer that creates one, whatever the service names its members: the longest text of that form, because a beginning of the
 * key may stand beside it. Null where there is none, or more than one.
 *
 * @param label of the key, which the answer may repeat.
 */
export function keyIn(document: unknown, label: string): string | null {
  const texts = valuesIn(document).filter((value) => typeof value === "string");
  const keys = [...new Set(texts.filter((text) => text !== label && KEY.test(text)))];
  const [longest, next] = keys.toSorted((left, right) => right.length - left.length);
  return longest === undefined || next?.length === longest.length ? null : longest;
}

/** What limits a key, as a body asks for it. */
interface Restrictions {
  readonly scopes: readonly string[] | undefined;
  /** ISO 8601. */
  readonly expires_at: string | undefined;
  readonly uses: number | undefined;
}

/** The flags of restrictions that the answer does not repeat, under whichever names; empty where it repeats all. */
export function unconfirmedFlags({ scopes, expires_at: expiresAt, uses }: Restrictions, document: unknown): string {
  const values = valuesIn(document);
  const isTimed = (timeMs: number) => values.some((value) => isSameTime(value, timeMs));
  const rows = [
    ["--scope", isListed(scopes, values)],
    ["--expires", expiresAt === undefined || isTimed(Date.parse(expiresAt))],
    ["--uses", uses === undefined || values.includes(uses)],
  ] as const;
  return rows.flatMap(([flag, isConfirmed]) => (isConfirmed ? [] : flag)).join(", ");
}

/** Whether a list has these words and no other; true without words. */
function isListed(words: readonly string[] | undefined, values: readonly unknown[]): boolean {
  if (words === undefined) return true;
  return values.some(
    (value) =>
      Array.isArray(value) &&
      value.length > 0 &&
      new Set([...value, ...words]).size === new Set(words).size &&
      new Set(value).size === new Set(words).size,
  );
}

/** As ISO 8601, or since the Unix epoch in seconds or milliseconds; services may round it to seconds. */
function isSameTime(value: unknown, timeMs: number): boolean {
  const times =
    typeof value === "string" ? [Date.parse(value)] : typeof value === "number" ? [value, value * 1000] : [];
  return times.some((each) => Math.abs(each - timeMs) < 1000);
}

/** Everything in a document: its texts and numbers, and also its lists and objects themselves. */
function valuesIn(document: unknown): readonly unknown[] {
  if (typeof document !== "object" || document === null) return [document];
  return [document, ...Object.values(document).flatMap(valuesIn)];
}
