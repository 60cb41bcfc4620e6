/** Text formats of the command line: times, sums, pages. */
import { describe, expect, test } from "vitest";

import { readNextPage } from "../../../src/client/operation-client.ts";
import { readTime } from "../../../src/operator/times.ts";
import { isWithin, sumUsage } from "../../../src/operator/usage/usage.ts";

const NOW_MS = Date.parse("2026-06-15T12:00:00Z");

test.each([
  ["90d", "ahead", "2026-09-13T12:00:00.000Z"],
  ["12h", "back", "2026-06-15T00:00:00.000Z"],
  ["30m", "back", "2026-06-15T11:30:00.000Z"],
  ["2w", "ahead", "2026-06-29T12:00:00.000Z"],
  ["2026-07-01", "ahead", "2026-07-01T00:00:00.000Z"],
  ["2026-07-01T02:00:00+02:00", "ahead", "2026-07-01T00:00:00.000Z"],
  ["2026-01-01", "back", "2026-01-01T00:00:00.000Z"],
] as const)("readTime: %s %s is %s", (text, direction, iso) => {
  expect(readTime(text, direction, NOW_MS)).toMatchObject({ iso });
});

test.each([
  ["2026-02-30", "back", "neither a date"],
  // A time without its zone means another moment on every computer.
  ["2026-07-01T02:00:00", "ahead", "neither a date"],
  ["tomorrow", "ahead", "neither a date"],
  ["7", "ahead", "neither a date"],
  ["", "ahead", "neither a date"],
  ["999999d", "ahead", "'999999d' is more than 100 years away"],
  ["2200-01-01", "ahead", "'2200-01-01' is more than 100 years away"],
  ["2026-06-01", "ahead", "in the past"],
] as const)("readTime: %j %s is refused: %s", (text, direction, why) => {
  expect(readTime(text, direction, NOW_MS)).toMatchObject({ what: expect.stringContaining(why) });
});

test.each([
  [undefined, null],
  ['</v1/robots?limit=2&cursor=x%3D>; rel="next"', { limit: "2", cursor: "x=" }],
  ['</a?cursor=1>; rel="prev", </a?cursor=2>; rel=next', { cursor: "2" }],
  ['</a?page=2&per_page=50>; rel="next"', { page: "2", per_page: "50" }],
  // Only the query is used, so that the credential is sent nowhere else.
  ['<https://evil.example/?cursor=2>; rel="next"', { cursor: "2" }],
  ['</a?limit=2>; rel="next"', null],
  ["nonsense", null],
])("readNextPage: %s → %j", (link, query) => {
  expect(readNextPage(link)).toEqual(query);
});

describe("usage", () => {
  const record = (robot: string, quantity: number, periodStart: string, more = {}) => ({
    id: "use_1",
    unit: "second",
    robot,
    model_slug: "pi",
    quantity,
    period_start: periodStart,
    ...more,
  });
  const records = [
    record("a", 10, "2026-06-01T23:59:59Z"),
    record("b", 100, "2026-06-02T00:00:00Z", { amount_cents: 5 }),
    record("a", 20, "2026-06-02T10:00:00Z", { amount_cents: 7 }),
    record("a", 1, "2026-06-02T10:00:00Z", { unit: "request" }),
  ];

  test("sumUsage: by robot, descending, one line per unit; no price is not 0 cents", () => {
    expect(sumUsage(records, "robot")).toEqual([
      { name: "b", quantity: 100, unit: "second", amount_cents: 5 },
      { name: "a", quantity: 30, unit: "second", amount_cents: 7 },
      { name: "a", quantity: 1, unit: "request", amount_cents: null },
    ]);
  });

  test("sumUsage: by day (UTC), in order", () => {
    expect(sumUsage(records, "day").map(({ name, quantity }) => [name, quantity])).toEqual([
      ["2026-06-01", 10],
      ["2026-06-02", 120],
      ["2026-06-02", 1],
    ]);
  });

  test("isWithin: a record counts for the day in which it begins, so that days add up", () => {
    const [before, first] = records;
    const day = ["2026-06-02T00:00:00Z", "2026-06-03T00:00:00Z"] as const;
    expect([before, first].map((each) => each !== undefined && isWithin(each, ...day))).toEqual([false, true]);
    expect(isWithin({ id: "x" }, ...day)).toBe(false);
  });
});
