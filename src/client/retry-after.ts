import { RETRY_AFTER_CAP_MS } from "../platform/retry.ts";

/** A date is 29 characters in its longest common form; a number of seconds is shorter. */
const LONGEST_VALUE = 64;

/** The three forms of RFC 9110 section 5.6.7. Date.parse alone accepts nearly any text, such as "7" and "May". */
const IMF_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const RFC_850_DATE = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/**
 * The delay that an answer asks for (RFC 9110 section 10.2.3).
 *
 * A date is compared with the answer's Date header where there is one, because a robot's clock may be wrong by decades.
 *
 * @returns milliseconds, 0 for a past date, at most `RETRY_AFTER_CAP_MS`; null for a missing or invalid value.
 */
export function parseRetryAfter(
  retryAfter: string | undefined,
  date: string | undefined,
  wallMs: number,
): number | null {
  if (retryAfter === undefined || retryAfter.length > LONGEST_VALUE) return null;
  const value = retryAfter.trim();
  if (/^\d+(?:\.\d+)?$/.test(value)) return bounded(Number(value) * 1000);
  const untilMs = parseHttpDate(value);
  if (untilMs === null) return null;
  return bounded(untilMs - (parseHttpDate(date?.trim() ?? "") ?? wallMs));
}

function bounded(durationMs: number): number {
  return Math.min(RETRY_AFTER_CAP_MS, Math.max(0, Math.ceil(durationMs)));
}

function parseHttpDate(text: string): number | null {
  if (IMF_DATE.test(text) || RFC_850_DATE.test(text)) return valid(Date.parse(text));
  // This form has no zone: it is GMT, but Date.parse would read it as local time.
  if (ASCTIME_DATE.test(text)) return valid(Date.parse(`${text} GMT`));
  return null;
}

function valid(timeMs: number): number | null {
  return Number.isNaN(timeMs) ? null : timeMs;
}
