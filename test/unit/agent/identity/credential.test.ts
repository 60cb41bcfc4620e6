import { expect, test } from "vitest";

import { isRenewalDue, renewalTime } from "../../../../src/agent/identity/credential.ts";
import type { Clock } from "../../../../src/platform/clock.ts";

const HOUR_MS = 60 * 60_000;
const NOON = Date.parse("2026-06-01T12:00:00Z");
/** Expires after 24 h, renewal due after 14 h. */
const ISSUED = {
  issued_at: "2026-06-01T12:00:00Z",
  renew_after_s: 14 * 3600,
  credential_expires_at: "2026-06-02T12:00:00Z",
} as const;

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
  ["at once", 0, 0, 0, false],
  ["just before", 0, 13.9, 13.9, false],
  ["when it is due", 0, 14, 14, true],
  ["after a suspend, in which the monotonic clock stops", 0, 0.1, 14.1, true],
  ["after the wall clock was set back", 0, 14, -YEARS, true],
  ["of an earlier process, a day without power", 24, 0, 24, true],
  ["of an earlier process, an hour ago", 1, 0, 1, false],
  ["of an earlier process, the rest of the time", 10, 3.9, 10, false],
  ["of an earlier process, after the rest of the time", 10, 4, 10, true],
  ["of an earlier process, clock at 1970: decided by the first heartbeat", -YEARS, 0, -YEARS, false],
])("isRenewalDue: %s", (_when, readAtHours, monotonicHours, wallHours, expected) => {
  const time = renewalTime(ISSUED, clockAt(0, readAtHours));
  expect(isRenewalDue(time, clockAt(monotonicHours, wallHours))).toBe(expected);
});

test("isRenewalDue: wall clock wrong at the issue → ignored, also after it is corrected", () => {
  const time = renewalTime({ ...ISSUED, issued_at: "1976-06-01T12:00:00Z" }, clockAt(0, -YEARS));
  expect(isRenewalDue(time, clockAt(1, 1))).toBe(false);
  expect(isRenewalDue(time, clockAt(14, 14))).toBe(true);
});
