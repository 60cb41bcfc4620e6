/**
 * Usage periods: from a whole second to a whole second, both ISO 8601 in UTC with milliseconds.
 *
 * Every period of a robot starts and ends on a whole second of the wall clock, and none starts before the previous one ended, so each
 * second is counted once and nothing is rounded. Time that a clock skips within a period counts, and after it went back, nothing counts
 * until it is there again. Exception: a period that ends more than a day in the future, written with a wrong clock, does not delay the
 * following ones.
 */
import { isoTime } from "../../platform/clock.ts";

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;
/** A period that ends further in the future was written with a wrong clock. */
const AHEAD_MAXIMUM_MS = 24 * HOUR_MS;

/** Start of a period that begins now: not before `until`, the end of the robot's last one, even if the clock went back. */
export function periodStart(now: string, until: string | null): string {
  const start = wholeSecond(now);
  return until !== null && until > start ? until : start;
}

/** End of a period that stops now: not before its start, even if the clock went back. */
export function periodEnd(start: string, now: string): string {
  const end = wholeSecond(now);
  return end < start ? start : end;
}

/** Length of a period in seconds. */
export function periodSeconds(start: string, end: string): number {
  return (Date.parse(end) - Date.parse(start)) / SECOND_MS;
}

/** The latest credible end of a period in the ledger; later ones are ignored. */
export function latestBelieved(now: string): string {
  return isoTime(Date.parse(wholeSecond(now)) + AHEAD_MAXIMUM_MS);
}

/** The start of the hour of `now`, where running periods are split. */
export function wholeHour(now: string): string {
  return floorTo(now, HOUR_MS);
}

/** The start of the second of `now`. */
export function wholeSecond(now: string): string {
  return floorTo(now, SECOND_MS);
}

function floorTo(now: string, unitMs: number): string {
  return new Date(Math.floor(Date.parse(now) / unitMs) * unitMs).toISOString();
}
