import { expect, test } from "vitest";

import { chosenDuration, pastTime, relativeTime, shortDuration } from "../../../../src/platform/text/relative-time.ts";

const NOW_MS = Date.parse("2026-06-15T12:00:00Z");

test.each([
  [null, ""],
  ["not a time", "not a time"],
  ["2026-06-15T12:00:03Z", "now"],
  ["2026-06-15T11:59:20Z", "40 s ago"],
  ["2026-06-15T11:56:30Z", "3 min ago"],
  ["2026-06-14T12:00:00Z", "24 h ago"],
  ["2026-06-12T12:00:00Z", "3 d ago"],
  // Twelve and a half days count as twelve.
  ["2026-06-02T23:00:00Z", "12 d ago"],
  ["2026-06-15T14:10:00+02:00", "in 10 min"],
  ["2026-06-22T11:59:59Z", "in 7 d"],
  ["2026-06-15T12:01:29Z", "in 1 min"],
  ["2026-06-15T12:01:30Z", "in 2 min"],
  ["2026-06-15T12:59:31Z", "in 1 h"],
  ["2025-01-02T03:04:05Z", "2025-01-02"],
])("relativeTime: %s → %j", (iso, text) => {
  expect(relativeTime(iso, NOW_MS)).toBe(text);
});

test.each([
  [0, "0 s"],
  [59_999, "59 s"],
  [60_000, "1 min"],
  [3_599_999, "59 min"],
  [47.9 * 3_600_000, "47 h"],
  [48 * 3_600_000, "2 d"],
])("shortDuration: %i ms → %j, rounded down", (durationMs, text) => {
  expect(shortDuration(durationMs)).toBe(text);
});

test.each([
  [45_000, "45 s"],
  [90_999, "1 min 30 s"],
  [8.5 * 3_600_000, "8 h 30 min"],
  [8 * 3_600_000, "8 h"],
  [48.5 * 3_600_000, "2 d 30 min"],
  [56 * 3_600_000, "2 d 8 h"],
])("chosenDuration: %i ms → %j, with what the largest unit leaves", (durationMs, text) => {
  expect(chosenDuration(durationMs)).toBe(text);
});

test.each([
  [null, ""],
  ["not a time", "not a time"],
  ["2026-06-15T11:56:30Z", "3 min ago"],
  ["2026-06-15T12:00:07Z", "now"],
  ["2026-06-15T13:00:00Z", "now"],
])("pastTime: %s → %j, never in the future", (iso, text) => {
  expect(pastTime(iso, NOW_MS)).toBe(text);
});
