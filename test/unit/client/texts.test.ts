import * as fc from "fast-check";
import { expect, test } from "vitest";

import { isPathParameter, operationUrl, unreachable } from "../../../src/client/send-request.ts";
import { parseRetryAfter } from "../../../src/platform/retry.ts";
import { isOfNetwork } from "../../../src/client/call-result.ts";
import { printable } from "../../../src/client/printable.ts";
import { Secret } from "../../../src/client/secret.ts";
import { isLoopback, parseServiceUrl } from "../../../src/client/transport/service-url.ts";

test.each([
  ["https://api.example.com", false, "https://api.example.com/"],
  ["https://api.example.com:8443/prefix/", false, "https://api.example.com:8443/prefix/"],
  ["http://127.0.0.1:8080", false, "http://127.0.0.1:8080/"],
  ["http://127.1", false, "http://127.0.0.1/"],
  ["http://localhost:8080", false, "http://localhost:8080/"],
  ["http://lab.localhost", false, "url-insecure"],
  ["http://[::1]:8080", false, "http://[::1]:8080/"],
  ["http://10.0.0.1", true, "http://10.0.0.1/"],
  ["http://10.0.0.1", false, "url-insecure"],
  ["http://127.0.0.1.example.com", false, "url-insecure"],
  ["http://localhost.example.com", false, "url-insecure"],
  ["http://0.0.0.0", false, "url-insecure"],
  ["ftp://api.example.com", true, "url-scheme"],
  ["api.example.com", false, "url-invalid"],
  ["", false, "url-invalid"],
  [`https://${"x".repeat(3_000)}`, false, "url-invalid"],
  ["https://user:hidden@api.example.com", false, "url-credentials"],
  ["https://api.example.com/?hidden=1", false, "url-query"],
  ["https://api.example.com/#a", false, "url-query"],
  ["https://api.example.com/v1", false, "url-versioned"],
  ["https://api.example.com/v1/", false, "url-versioned"],
])("parseServiceUrl: %s, allow_insecure %s → %o", (text, allowInsecure, expected) => {
  const parsed = parseServiceUrl(text, allowInsecure);
  expect(parsed.kind === "url" ? parsed.url.href : parsed.code).toBe(expected);
  expect(JSON.stringify(parsed)).not.toContain("hidden");
});

test.each([
  ["localhost", true],
  ["localhost.", true],
  ["127.255.0.1", true],
  ["[::1]", true],
  ["128.0.0.1", false],
  ["[::2]", false],
  ["notlocalhost", false],
  ["robots.localhost", false],
  ["robots.localhost.", false],
])("isLoopback: %s → %s", (hostname, expected) => {
  expect(isLoopback(hostname)).toBe(expected);
});

test.each([
  ["https://h", "/v1/robots", {}, "https://h/v1/robots"],
  ["https://h/", "/v1/robots", {}, "https://h/v1/robots"],
  ["https://h/a/b//", "/v1/robots", {}, "https://h/a/b/v1/robots"],
  ["https://h", "/v1/fleets/{fleet_id}/model", { fleet_id: "fleet_1" }, "https://h/v1/fleets/fleet_1/model"],
  ["https://h", "/v1/models/{slug}", { slug: "a/../b?c#d é" }, "https://h/v1/models/a%2F..%2Fb%3Fc%23d%20%C3%A9"],
])("operationUrl: %s, %s", (baseUrl, path, parameters, expected) => {
  expect(operationUrl(baseUrl, path, parameters)).toBe(expected);
});

test.each(["", ".", "..", "half \ud83d"])("operationUrl: %j would leave its path segment → refused", (slug) => {
  expect(isPathParameter(slug)).toBe(false);
  expect(() => operationUrl("https://h", "/v1/models/{slug}", { slug })).toThrow(RangeError);
});

test("operationUrl: any parameter → one path segment", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (slug) => {
      fc.pre(slug !== "." && slug !== "..");
      const url = new URL(operationUrl("https://h/p", "/v1/models/{slug}", { slug }));
      return url.pathname.split("/").length === 5 && decodeURIComponent(url.pathname.split("/")[4] ?? "") === slug;
    }),
  );
});

test.each([
  ["plain", "plain"],
  ["  a \t\r\n b\u2028c ", "a b c"],
  ["\u001b]0;title\u0007red\u001b[31m", "]0;titlered[31m"],
  ["a\u202eb\u200bc", "abc"],
  ["half \ud800 pair", "half \ufffd pair"],
  ["0123456789abcdef", "012345678…"],
  ["012345678😀 and more", "012345678…"],
  ["01234567😀 and more", "01234567…"],
])("printable: %j", (text, expected) => {
  expect(printable(text, 10 + (text.length < 16 || !text.startsWith("0") ? 90 : 0))).toBe(expected);
});

test("printable: any text → one bounded, well-formed line without control characters", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 1, max: 40 }), (text, limit) => {
      const line = printable(text, limit);
      return line.length <= limit && line.isWellFormed() && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(line);
    }),
  );
});

test("Secret: only `reveal` returns the value", () => {
  const secret = new Secret("hidden");
  expect(secret.reveal()).toBe("hidden");
  expect(`${secret} ${JSON.stringify({ secret })} ${Object.values(secret).join("")}`).not.toContain("hidden");
  expect(structuredClone({ ...secret })).toEqual({});
  expect(secret.redactFrom("a hidden b hidden")).toBe("a [secret] b [secret]");
  expect(new Secret("").redactFrom("text")).toBe("text");
});

test.each([
  [403, true, true],
  [403, false, false],
  [407, false, true],
  [511, false, true],
  // Of the gateway before a service.
  [404, true, false],
  [413, true, false],
  [429, true, false],
  [502, true, false],
])("isOfNetwork: %i, with a web page: %s", (status, isWebPage, expected) => {
  expect(isOfNetwork({ status, detail: "no", isWebPage })).toBe(expected);
});

test("unreachable: a part of the program cannot be read for now → the request fails, a bug is thrown", () => {
  const exhausted = Object.assign(new Error("too many open files"), { code: "EMFILE" });
  expect(unreachable(exhausted, null)).toMatchObject({
    kind: "unreachable",
    reason: "other",
    detail: "cannot read a part of this program (EMFILE)",
  });
  expect(() => unreachable(new SyntaxError("x"), null)).toThrow(SyntaxError);
});

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
  ["an exponent", "1e3", undefined, null],
  ["Infinity", "Infinity", undefined, null],
  ["a word", "soon", undefined, null],
  ["a month, which Date.parse takes", "May", undefined, null],
  ["an ISO date, which RFC 9110 does not know", "2030-01-01T00:01:00Z", undefined, null],
  ["a date, by our clock", "Tue, 01 Jan 2030 00:01:00 GMT", undefined, 60_000],
  ["a date, by the answer's clock", "Tue, 01 Jan 2030 00:01:00 GMT", "Tue, 01 Jan 2030 00:00:30 GMT", 30_000],
  ["a date, ours being 60 years off", "Thu, 01 Jan 1970 00:00:09 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", 9_000],
  ["a date, the answer's being garbage", "Tue, 01 Jan 2030 00:01:00 GMT", "yesterday", 60_000],
  ["a past date", "Mon, 31 Dec 2029 23:59:00 GMT", undefined, 0],
  ["a date in a distant future", "Fri, 01 Jan 2100 00:00:00 GMT", undefined, HOUR],
  ["an invalid date", "Tue, 99 Foo 2030 00:01:00 GMT", undefined, null],
])("parseRetryAfter: %s", (_name, value, date, expected) => {
  expect(parseRetryAfter(value, date, NOW)).toBe(expected);
});

test("parseRetryAfter: any text → null or at most an hour", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 80 }), fc.option(fc.string(), { nil: undefined }), (value, date) => {
      const result = parseRetryAfter(value, date, NOW);
      return result === null || (Number.isInteger(result) && result >= 0 && result <= HOUR);
    }),
  );
});
