/** `1 robot`, `1,204 robots`. */
export function counted(count: number, noun: string): string {
  return `${number(count)} ${count === 1 ? noun : `${noun}s`}`;
}

/** `3 of 10 uses`, or `1 use` if that is all. */
export function countedOf(count: number, total: number, noun: string): string {
  return count === total ? counted(count, noun) : `${number(count)} of ${number(total)} ${noun}s`;
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Milliseconds since the epoch; null if there is no time. */
export function momentOf(at: string | null | undefined): number | null {
  return at === null || at === undefined ? null : Date.parse(at);
}

/** With thousands separators. */
export function number(value: number): string {
  return NUMBER.format(value);
}

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

/** Natural order: case-insensitive, `r2` before `r10`. */
export function compareTexts(left: string, right: string): number {
  return COLLATOR.compare(left, right);
}

const COLLATOR = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** `on demand` for `on_demand`. */
export function withSpaces(word: string): string {
  return word.replaceAll("_", " ");
}
