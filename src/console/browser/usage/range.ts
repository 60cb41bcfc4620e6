/** A time that usage is told of, in milliseconds since the epoch. */
export interface UsageRange {
  readonly since_ms: number;
  readonly until_ms: number;
  /** Starts of the first and the last day (UTC) that it has a part of. */
  readonly firstMs: number;
  readonly lastMs: number;
}

export const DAY_MS = 86_400_000;
/** As the service bounds a summary (USAGE_SUMMARY_DAYS of its interface). */
export const DAYS_MAXIMUM = 400;
export const DAYS_STANDARD = 30;

/** `problem` is a sentence for whoever chose it. */
export type ReadRange =
  | { readonly state: "read"; readonly range: UsageRange }
  | { readonly state: "refused"; readonly problem: string };

/** The range that the address names: whole days `from` and `to`, or as the command line has it, so many times 24 hours up to now. */
export function readRange(query: URLSearchParams, nowMs: number): ReadRange {
  if (!query.has("from") && !query.has("to")) {
    const asked = Number(query.get("days") ?? DAYS_STANDARD);
    const days = Number.isInteger(asked) && asked >= 1 && asked <= DAYS_MAXIMUM ? asked : DAYS_STANDARD;
    const sinceMs = nowMs - days * DAY_MS;
    const range = { since_ms: sinceMs, until_ms: nowMs, firstMs: startOfDay(sinceMs), lastMs: startOfDay(nowMs) };
    return { state: "read", range };
  }
  const firstMs = parseDay(query.get("from"));
  const lastMs = parseDay(query.get("to"));
  if (firstMs === null || lastMs === null) return { state: "refused", problem: "Choose a first and a last day." };
  if (lastMs < firstMs) return { state: "refused", problem: "The last day is before the first." };
  const range = { since_ms: firstMs, until_ms: lastMs + DAY_MS, firstMs, lastMs };
  if (lengthOf(range) > DAYS_MAXIMUM) {
    return { state: "refused", problem: `${DAYS_MAXIMUM} days at most; these are ${lengthOf(range)}.` };
  }
  return { state: "read", range };
}

/** Days that it has a part of. */
export function daysOf({ firstMs, lastMs }: UsageRange): number {
  return (lastMs - firstMs) / DAY_MS + 1;
}

/** Its length in days of 24 hours. */
export function lengthOf({ since_ms: sinceMs, until_ms: untilMs }: Pick<UsageRange, "since_ms" | "until_ms">): number {
  return (untilMs - sinceMs) / DAY_MS;
}

/** `2026-11-21` */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, "YYYY-MM-DD".length);
}

function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

/** Null for what is no day. */
export function parseDay(text: string | null): number | null {
  if (text === null || !/^\d{4}-\d\d-\d\d$/.test(text)) return null;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(ms) ? null : ms;
}
