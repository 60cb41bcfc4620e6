import { expect, test } from "vitest";

import { boundsOf, daysOfMonth, isDay, lastDays, lastMonth, quantityText } from "../../../src/views/usage.ts";

const NOW_MS = Date.parse("2026-03-01T00:30:00Z");

test.each([
  ["last 30 days", lastDays(30, NOW_MS), { first: "2026-01-31", last: "2026-03-01" }],
  ["today", lastDays(1, NOW_MS), { first: "2026-03-01", last: "2026-03-01" }],
  ["last month", daysOfMonth(lastMonth(NOW_MS)), { first: "2026-02-01", last: "2026-02-28" }],
  ["a leap year", daysOfMonth("2028-02"), { first: "2028-02-01", last: "2028-02-29" }],
  ["the end of a year", daysOfMonth("2026-12"), { first: "2026-12-01", last: "2026-12-31" }],
  ["no month", daysOfMonth("2026-13"), null],
])("days: %s", (_what, days, expected) => {
  expect(days).toEqual(expected);
});

test("boundsOf: from midnight to midnight, UTC; open while the last day lasts", () => {
  const since = "2026-02-01T00:00:00.000Z";
  expect(boundsOf({ first: "2026-02-01", last: "2026-02-28" }, NOW_MS)).toEqual({
    since,
    until: "2026-03-01T00:00:00.000Z",
  });
  expect(boundsOf({ first: "2026-02-01", last: "2026-03-01" }, NOW_MS)).toEqual({ since, until: null });
});

test("isDay: a day that there is", () => {
  const texts = ["2026-02-28", "2026-02-30", "2026-2-3", "2026-02-28T00:00:00Z", "", null, undefined];
  expect(texts.map(isDay)).toEqual([true, false, false, false, false, false, false]);
});

test.each([
  [30, "second", "30 s"],
  [5400, "second", "1.5 h"],
  [3_758_400, "second", "1,044 h"],
  [12.345, "request", "12.3 request"],
])("quantityText: %d %s → %s", (quantity, unit, text) => {
  expect(quantityText(quantity, unit)).toBe(text);
});
