/** `1 robot`, `1,204 robots`. */
export function counted(count: number, noun: string): string {
  return `${number(count)} ${count === 1 ? noun : `${noun}s`}`;
}

/** With thousands separators. */
export function number(value: number): string {
  return NUMBER.format(value);
}

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

/** `a`, `a and b`, `a, b and c`. */
export function listed(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1) ?? ""}`;
}

/** Natural order: case-insensitive, `r2` before `r10`. */
export function compareTexts(left: string, right: string): number {
  return COLLATOR.compare(left, right);
}

const COLLATOR = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** `on demand` for `on_demand`. */
export function withSpaces(word: string): string {
  return word.replaceAll("_", " ");
}
