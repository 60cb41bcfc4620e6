/** `arm-9` before `arm-10`. */
export const { compare: compareNames } = new Intl.Collator("en", { numeric: true });
