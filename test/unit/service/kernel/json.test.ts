import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  JSON_DEPTH_MAXIMUM,
  JSON_INTEGER_DIGITS_MAXIMUM,
  parseJson,
  printJson,
} from "../../../../src/service/kernel/json/json.ts";
import { times } from "../../../support/run/tier.ts";

function roundTrip(text: string): string {
  const parsed = parseJson(text);
  return parsed.state === "parsed" ? printJson(parsed.value) : parsed.state;
}

describe("parseJson", () => {
  it("valid JSON → same result as JSON.parse", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), fc.nat(3), (value, indent) => {
        expect(JSON.parse(roundTrip(JSON.stringify(value, null, indent)))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("any text → no exception, nothing accepted that JSON.parse refuses", () => {
    const noise = fc.string({ unit: fc.constantFrom(...'{}[]",:\\0123456789-+.eEtrufalsn \n\u0001😀') });
    fc.assert(
      fc.property(noise, (text) => {
        const accepted = parseJson(text).state === "parsed";
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect(accepted).toBe(isJson);
      }),
      { numRuns: times(200, 2000) },
    );
  });

  it.each([
    ['{"b":1,"10":2,"9":3,"a":4}', "members keep their order"],
    ['{"__proto__":{"x":1},"constructor":2,"toString":3}', "names that JavaScript objects know"],
    ["[9007199254740993,-123456789012345678901234567890]", "integers beyond 2^53 are exact"],
    ['["\\ud800","\\u0000"]', "characters that have no UTF-8 or no place in C strings"],
  ])("%s: %s", (text) => {
    expect(roundTrip(text)).toBe(text);
  });

  it.each([
    ['{"a":1,"b":2,"a":3}', '{"a":3,"b":2}', "the last of duplicates, at the place of the first"],
    ["[NaN,Infinity,-Infinity,1e400]", "[null,null,null,null]", "Python's numbers, printed as null"],
    ["-0", "0", "an integer"],
    [' \t\r\n"\\u00e9\\ud83d\\ude00\\/" ', '"é😀/"', "escapes"],
  ])("%s → %s: %s", (text, printed) => {
    expect(roundTrip(text)).toBe(printed);
  });

  it.each([
    ['"a\\', "Unterminated string starting at", 0],
    ["[nul", "Expecting value", 1],
    ["[-", "Expecting value", 1],
    ["[.5", "Expecting value", 1],
  ])("%j: %s at %i", (text, message, position) => {
    expect(parseJson(text)).toEqual({ state: "invalid", message, position });
  });

  it("nesting → accepted up to the limit", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    expect(roundTrip(nested(JSON_DEPTH_MAXIMUM))).toBe(nested(JSON_DEPTH_MAXIMUM));
    expect(parseJson(nested(JSON_DEPTH_MAXIMUM + 1)).state).toBe("too-much");
    expect(parseJson("[".repeat(1_000_000)).state).toBe("too-much");
    expect(parseJson('{"a":'.repeat(1_000_000)).state).toBe("too-much");
  });

  it("integers → accepted up to the limit", () => {
    expect(parseJson("9".repeat(JSON_INTEGER_DIGITS_MAXIMUM)).state).toBe("parsed");
    expect(parseJson("9".repeat(JSON_INTEGER_DIGITS_MAXIMUM + 1)).state).toBe("too-much");
  });
});

describe("printJson", () => {
  it("undefined members → omitted, as by JSON.stringify", () => {
    expect(printJson({ a: undefined, b: [undefined] })).toBe('{"b":[null]}');
  });
});
