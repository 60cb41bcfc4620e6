import * as fc from "fast-check";

/**
 * Any code point, including lone surrogates. Like `binary` of fast-check, but without its table of all 1.1 million code points, which
 * takes a second to build.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.integer({ min: 0, max: 0x10_ff_ff }).map(
  (code) => String.fromCodePoint(code),
  (value) => {
    if (typeof value !== "string" || [...value].length !== 1) throw new Error("This is not one character");
    return value.codePointAt(0) ?? 0;
  },
);
