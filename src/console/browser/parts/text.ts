export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
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
