import * as fc from "fast-check";
import { expect, test, vi } from "vitest";

import { parseRetryAfter } from "../../../src/client/retry-after.ts";

const NOW = Date.UTC(2030, 0, 1);
const HOUR = 3_600_000;

test.each([
  ["absent", undefined, undefined, null],
  ["empty", "", undefined, null],
  ["zero", "0", undefined, 0],
  ["seconds", "120", undefined, 120_000],
  ["seconds with space around", "  120 ", undefined, 120_000],
  ["a fraction of seconds", "1.5", undefined, 1_500],
  ["an hour", "3600", undefined, HOUR],
  ["more than an hour", "3601", undefined, HOUR],
  ["seconds beyond counting", "9".repeat(60), undefined, HOUR],
  ["negative", "-1", undefined, null],
  ["a sign", "+1", undefined, null],
  ["an exponent", "1e3", undefined, null],
  ["hexadecimal", "0x10", undefined, null],
  ["Infinity", "Infinity", undefined, null],
  ["a word", "soon", undefined, null],
  ["two values", "1, 2", undefined, null],
  ["a month, which Date.parse takes", "May", undefined, null],
  ["an ISO date, which RFC 9110 does not know", "2030-01-01T00:01:00Z", undefined, null],
  ["too long to parse", "1".repeat(65), undefined, null],
  ["a date, by our clock", "Tue, 01 Jan 2030 00:01:00 GMT", undefined, 60_000],
  ["a date, by the answer's clock", "Tue, 01 Jan 2030 00:01:00 GMT", "Tue, 01 Jan 2030 00:00:30 GMT", 30_000],
  ["a date, ours being 60 years off", "Thu, 01 Jan 1970 00:00:09 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", 9_000],
  ["a date, the answer's being garbage", "Tue, 01 Jan 2030 00:01:00 GMT", "yesterday", 60_000],
  ["a past date", "Mon, 31 Dec 2029 23:59:00 GMT", undefined, 0],
  ["a date in a distant future", "Fri, 01 Jan 2100 00:00:00 GMT", undefined, HOUR],
  ["the form of RFC 850", "Tuesday, 01-Jan-30 00:01:00 GMT", undefined, 60_000],
  ["asctime format", "Tue Jan  1 00:01:00 2030", undefined, 60_000],
  ["an invalid date", "Tue, 99 Foo 2030 00:01:00 GMT", undefined, null],
])("parseRetryAfter: %s", (_name, value, date, expected) => {
  expect(parseRetryAfter(value, date, NOW)).toBe(expected);
});

test("parseRetryAfter: asctime date in any time zone → GMT", () => {
  vi.stubEnv("TZ", "Asia/Tokyo");
  try {
    expect(parseRetryAfter("Tue Jan  1 00:01:00 2030", undefined, NOW)).toBe(60_000);
  } finally {
    vi.unstubAllEnvs();
  }
});

test("parseRetryAfter: any text → null or at most an hour", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 80 }), fc.option(fc.string(), { nil: undefined }), (value, date) => {
      const result = parseRetryAfter(value, date, NOW);
      return result === null || (Number.isInteger(result) && result >= 0 && result <= HOUR);
    }),
  );
});
