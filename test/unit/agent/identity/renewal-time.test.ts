import { expect, test } from "vitest";

import {
  corrected,
  isRenewalDue,
  renewalTime,
  storedRenewalTime,
} from "../../../../src/agent/identity/renewal-time.ts";
import type { Clock } from "../../../../src/platform/clock.ts";

const HOUR_MS = 60 * 60_000;
const NOON = Date.parse("2026-06-01T12:00:00Z");
/** Expires after 24 h, renewal due after 14 h. */
const ISSUED = { renew_after_s: 14 * 3600, credential_expires_at: "2026-06-02T12:00:00Z" } as const;

/** Fixed clocks, in hours since the issue. */
function clockAt(monotonicHours: number, wallHours: number): Clock {
  return {
    monotonicMs: () => 5000 + monotonicHours * HOUR_MS,
    wallMs: () => NOON + wallHours * HOUR_MS,
    sleep: () => new Promise(() => {}),
  };
}

const YEARS = 50 * 365 * 24;

test.each([
  ["at once", 0, 0, false],
  ["just before", 13.9, 13.9, false],
  ["when it is due", 14, 14, true],
  ["after a suspend, in which the monotonic clock stops", 0.1, 14.1, true],
  ["after the wall clock was set back", 14, -YEARS, true],
])("isRenewalDue: %s", (_when, monotonicHours, wallHours, expected) => {
  const time = renewalTime(ISSUED, clockAt(0, 0));
  expect(isRenewalDue(time, clockAt(monotonicHours, wallHours))).toBe(expected);
});

test("isRenewalDue: wall clock wrong at the issue → ignored, also after it is corrected", () => {
  const time = renewalTime(ISSUED, clockAt(0, -YEARS));
  expect(isRenewalDue(time, clockAt(1, 1))).toBe(false);
  expect(isRenewalDue(time, clockAt(14, 14))).toBe(true);
});

test.each([
  ["after a day without power", 24, true],
  ["an hour later", 1, false],
  ["clock at 1970: decided by the first heartbeat", -YEARS, false],
])("storedRenewalTime: %s", (_when, wallHours, expected) => {
  const clock = clockAt(0, wallHours);
  expect(isRenewalDue(storedRenewalTime(ISSUED, NOON, clock), clock)).toBe(expected);
});

test("storedRenewalTime: after a restart → includes the time before it", () => {
  const time = storedRenewalTime(ISSUED, NOON, clockAt(0, 10));
  expect(isRenewalDue(time, clockAt(3.9, 10))).toBe(false);
  expect(isRenewalDue(time, clockAt(4, 10))).toBe(true);
});

test("corrected: heartbeat → restarts the timer, 0 when due", () => {
  const time = renewalTime(ISSUED, clockAt(0, 0));
  expect(isRenewalDue(corrected(time, 0, clockAt(1, 1)), clockAt(1, 1))).toBe(true);
  expect(isRenewalDue(corrected(time, 13 * 3600, clockAt(1, 1)), clockAt(13.9, 1))).toBe(false);
});
