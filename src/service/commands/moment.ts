import { isoTime } from "../../platform/clock.ts";
import { readDateTime } from "../kernel/validation/date-time.ts";

const UNITS_MS = { d: 24 * 60 * 60 * 1000, h: 60 * 60 * 1000, m: 60 * 1000 } as const;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const DURATION = /^(\d{1,6})([dhm])$/;
/** A later expiry is probably a mistake. Also keeps years at four digits, so that times sort as texts. */
const LATEST_MS = 100 * 365 * UNITS_MS.d;

export type Expiry =
  /** `at`: ISO 8601 in UTC with milliseconds. */
  | { readonly state: "read"; readonly at: string }
  /** `what`: one sentence. */
  | { readonly state: "refused"; readonly what: string };

/** The value of `--expires`: the start of a day in UTC, a time with its zone, or a duration from now, such as `90d`, `12h`, `30m`. */
export function readExpiry(text: string, nowMs: number): Expiry {
  const expiresMs = readMoment(text, nowMs, "after");
  if (expiresMs === null) return { state: "refused", what: "this is not a time" };
  if (expiresMs <= nowMs) return { state: "refused", what: "this time is not in the future" };
  if (expiresMs > nowMs + LATEST_MS) return { state: "refused", what: "this is more than 100 years away" };
  return { state: "read", at: isoTime(expiresMs) };
}

/** The value of `--since`, as ISO 8601: like that of `--expires`, with durations before now. Null for anything else. */
export function readSince(text: string, nowMs: number): string | null {
  const sinceMs = readMoment(text, nowMs, "before");
  return sinceMs === null ? null : isoTime(sinceMs);
}

function readMoment(text: string, nowMs: number, direction: "before" | "after"): number | null {
  const [, count, unit] = DURATION.exec(text) ?? [];
  if (unit === "d" || unit === "h" || unit === "m") {
    const durationMs = Number(count) * UNITS_MS[unit];
    return direction === "after" ? nowMs + durationMs : nowMs - durationMs;
  }
  const read = /^\d{4}-/.test(text) ? readDateTime(text) : null;
  return read !== null && "value" in read && (read.value.hasOffset || DAY.test(text)) ? read.value.epochMs : null;
}
