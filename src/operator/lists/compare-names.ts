let collator: Intl.Collator | undefined;

/** `arm-9` before `arm-10`. The collator is made at the first use: that takes 30 ms, and most commands compare no names. */
export function compareNames(left: string, right: string): number {
  collator ??= new Intl.Collator("en", { numeric: true });
  return collator.compare(left, right);
}
