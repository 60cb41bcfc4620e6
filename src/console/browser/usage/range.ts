/** A range of time, in milliseconds since the epoch. */
export interface UsageRange {
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Starts of the first and the last day (UTC) that it overlaps. */
  readonly firstMs: number;
  readonly lastMs: number;
}

export const DAY_MS = 86_400_000;
/** USAGE_SUMMARY_DAYS of src/api/usage.ts. */
export const DAYS_MAXIMUM = 400;
export const DAYS_STANDARD = 30;

/** `problem` is a sentence for the person. */
export type ReadRange =
  | { readonly state: "read"; readonly range: UsageRange }
  | { readonly state: "refused"; readonly problem: string };

/** The range in the URL: whole days `from` and `to`, or, like the command line, `days` times 24 hours up to now. */
export function readRange(query: URLSearchParams, nowMs: number): ReadRange {
  if (!query.has("from") && !query.has("to")) {
    const sinceMs = nowMs - daysAsked(query) * DAY_MS;
    const range = { sinceMs, untilMs: nowMs, firstMs: startOfDay(sinceMs), lastMs: startOfDay(nowMs) };
    return { state: "read", range };
  }
  const firstMs = parseDay(query.get("from"));
  const lastMs = parseDay(query.get("to"));
  if (firstMs === null || lastMs === null) return { state: "refused", problem: "Choose a first and a last day." };
  if (lastMs < firstMs) return { state: "refused", problem: "The last day is before the first." };
  const range = { sinceMs: firstMs, untilMs: lastMs + DAY_MS, firstMs, lastMs };
  if (lengthOf(range) > DAYS_MAXIMUM) {
    return { state: "refused", problem: `Choose at most ${DAYS_MAXIMUM} days; these are ${lengthOf(range)}.` };
  }
  return { state: "read", range };
}

/** The number of days in the URL, or the standard one in place of one that cannot be shown. */
export function daysAsked(query: URLSearchParams): number {
  const asked = Number(query.get("days") ?? DAYS_STANDARD);
  return Number.isInteger(asked) && asked >= 1 && asked <= DAYS_MAXIMUM ? asked : DAYS_STANDARD;
}

export function daysOf({ firstMs, lastMs }: UsageRange): number {
  return (lastMs - firstMs) / DAY_MS + 1;
}

/** Its length in days of 24 hours. */
export function lengthOf({ sinceMs, untilMs }: Pick<UsageRange, "sinceMs" | "untilMs">): number {
  return (untilMs - sinceMs) / DAY_MS;
}

export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, "YYYY-MM-DD".length);
}

function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

/** Null for an invalid day. */
export function parseDay(text: string | null): number | null {
  if (text === null || !/^\d{4}-\d\d-\d\d$/.test(text)) return null;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(ms) ? null : ms;
}
