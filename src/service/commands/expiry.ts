import { readDateTime } from "../kernel/validation/date-time.ts";

const UNITS_MS = { d: 24 * 60 * 60 * 1000, h: 60 * 60 * 1000, m: 60 * 1000 } as const;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const DURATION = /^(\d{1,6})([dhm])$/;
/** Later is a slip; and the texts of times sort as times up to the year 9999. */
const LATEST_MS = 100 * 365 * UNITS_MS.d;

export type Expiry =
  /** `at`: ISO 8601 in UTC with milliseconds. */
  | { readonly state: "read"; readonly at: string }
  /** `what`: one sentence for a person. */
  | { readonly state: "refused"; readonly what: string };

/**
 * When something is to expire: the begin of a day in UTC, a moment with its time zone, or how long from now, such as `90d`,
 * `12h`, `30m`.
 */
export function readExpiry(text: string, nowMs: number): Expiry {
  const expiresMs = momentOf(text, nowMs);
  if (expiresMs === null) return { state: "refused", what: "This is not written as a time." };
  if (expiresMs <= nowMs) return { state: "refused", what: "This is no moment in the future." };
  if (expiresMs > nowMs + LATEST_MS) return { state: "refused", what: "This is more than 100 years away." };
  return { state: "read", at: new Date(expiresMs).toISOString() };
}

function momentOf(text: string, nowMs: number): number | null {
  const duration = DURATION.exec(text);
  if (duration !== null) {
    const [, count, unit] = duration;
    if (unit === "d" || unit === "h" || unit === "m") return nowMs + Number(count) * UNITS_MS[unit];
  }
  const read = /^\d{4}-/.test(text) ? readDateTime(text) : null;
  return read !== null && "value" in read && (read.value.has_offset || DAY.test(text)) ? read.value.epoch_ms : null;
}
