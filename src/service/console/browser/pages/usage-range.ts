/** Whole days in UTC, by the starts of the first and the last, in milliseconds since the epoch. */
export interface UsageRange {
  readonly first_ms: number;
  readonly last_ms: number;
}

export const DAY_MS = 86_400_000;
/** As the service bounds a summary (USAGE_SUMMARY_DAYS of its interface). */
export const DAYS_MAXIMUM = 400;
export const DAYS_STANDARD = 30;

/** `problem` is a sentence for whoever chose it. */
export type ReadRange =
  | { readonly state: "read"; readonly range: UsageRange }
  | { readonly state: "refused"; readonly problem: string };

/** The range that the address names: `from` and `to`, or the last `days`. */
export function readRange(query: URLSearchParams, now_ms: number): ReadRange {
  const today_ms = startOfDay(now_ms);
  if (!query.has("from") && !query.has("to")) {
    const asked = Number(query.get("days") ?? DAYS_STANDARD);
    const days = Number.isInteger(asked) && asked >= 1 && asked <= DAYS_MAXIMUM ? asked : DAYS_STANDARD;
    return { state: "read", range: { first_ms: today_ms - (days - 1) * DAY_MS, last_ms: today_ms } };
  }
  const first_ms = parseDay(query.get("from"));
  const last_ms = parseDay(query.get("to"));
  if (first_ms === null || last_ms === null) return { state: "refused", problem: "Choose a first and a last day." };
  if (last_ms < first_ms) return { state: "refused", problem: "The last day is before the first." };
  const range = { first_ms, last_ms };
  if (daysOf(range) > DAYS_MAXIMUM) {
    return { state: "refused", problem: `${DAYS_MAXIMUM} days at most; these are ${daysOf(range)}.` };
  }
  return { state: "read", range };
}

export function daysOf({ first_ms, last_ms }: UsageRange): number {
  return (last_ms - first_ms) / DAY_MS + 1;
}

/** `2026-11-21` */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, "YYYY-MM-DD".length);
}

function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

function parseDay(text: string | null): number | null {
  if (text === null || !/^\d{4}-\d\d-\d\d$/.test(text)) return null;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(ms) ? null : ms;
}
