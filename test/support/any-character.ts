import * as fc from "fast-check";

/**
 * Any code point, half surrogates too: what fast-check calls `binary`, without the second it takes to put all 1.1 million of them into a
 * table.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.integer({ min: 0, max: 0x10_ff_ff }).map(
  (code) => String.fromCodePoint(code),
  (value) => {
    if (typeof value !== "string" || [...value].length !== 1) throw new Error("This is not one character");
    return value.codePointAt(0) ?? 0;
  },
);
