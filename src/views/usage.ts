/** What operators see of usage: which days, how much each robot or model was used, and its share. Days are whole, and in UTC. */
import { shortDuration } from "../platform/text/relative-time.ts";
import type { Column } from "./view.ts";

export const USAGE_BY = ["robot", "model", "day"] as const;
export type UsageBy = (typeof USAGE_BY)[number];

/** Days such as `2026-11-21`; both are included. */
export interface Days {
  readonly first: string;
  readonly last: string;
}

const DAY_MS = 86_400_000;
/** Of a period that nobody chose. */
export const USUAL_DAYS = 30;

export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, "YYYY-MM-DD".length);
}

/** The day after so many days. */
export function dayAfter(day: string, days: number): string {
  return dayOf(Date.parse(day) + days * DAY_MS);
}

export function isDay(text: string | null | undefined): text is string {
  // Date.parse reads February 30 as March 2.
  return (
    /^\d{4}-\d\d-\d\d$/.test(text ?? "") && !Number.isNaN(Date.parse(text ?? "")) && dayAfter(text ?? "", 0) === text
  );
}

/** So many days, today the last. */
export function lastDays(count: number, nowMs: number): Days {
  return { first: dayOf(nowMs - (count - 1) * DAY_MS), last: dayOf(nowMs) };
}

/** The days of a month such as `2026-10`; null for none. */
export function daysOfMonth(month: string): Days | null {
  const first = `${month}-01`;
  if (!isDay(first)) return null;
  const start = new Date(first);
  return { first, last: dayOf(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 0)) };
}

/** The month before this one, `2026-10`. */
export function lastMonth(nowMs: number): string {
  const now = new Date(nowMs);
  return dayOf(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 0)).slice(0, "YYYY-MM".length);
}

/** ISO 8601: the beginning of the first day, and the end of the last; null while the period lasts. */
export function boundsOf(
  { first, last }: Days,
  nowMs: number,
): { readonly since: string; readonly until: string | null } {
  const [startMs, endMs] = [Date.parse(first), Date.parse(last) + DAY_MS];
  const isOpen = startMs <= nowMs && nowMs < endMs;
  return { since: new Date(startMs).toISOString(), until: isOpen ? null : new Date(endMs).toISOString() };
}

/** The sum for one robot, model or day, in one unit. */
export interface UsageSum {
  readonly name: string;
  readonly quantity: number;
  readonly unit: string;
  /** Null where nobody is billed, or the service does not show it. */
  readonly amount_cents: number | null;
}

/** The largest first, days in order. */
export function inOrder(sums: readonly UsageSum[], by: UsageBy): readonly UsageSum[] {
  return [...sums].sort((left, right) =>
    by === "day" ? (left.name < right.name ? -1 : 1) : right.quantity - left.quantity,
  );
}

/** The columns of the sums. @param total of all sums. */
export function usageColumns(by: UsageBy, total: number): readonly Column<UsageSum>[] {
  return [
    { name: by, show: ({ name }) => name, weight: 2 },
    {
      name: "used",
      show: ({ quantity, unit }) => quantityText(quantity, unit),
      sortKey: ({ quantity }) => quantity,
    },
    {
      name: "share",
      show: ({ quantity }) => (total > 0 ? `${Math.round((quantity / total) * 1000) / 10} %` : ""),
      sortKey: ({ quantity }) => quantity,
    },
  ];
}

/** The columns of a file. */
export function usageFileColumns(by: UsageBy): readonly Column<UsageSum>[] {
  return [
    { name: by, show: ({ name }) => name },
    { name: "quantity", show: ({ quantity }) => quantity },
    { name: "unit", show: ({ unit }) => unit },
    { name: "hours", show: ({ quantity, unit }) => (unit === "second" ? (quantity / 3600).toFixed(2) : "") },
    { name: "amount_cents", show: ({ amount_cents: cents }) => cents },
  ];
}

const FINE = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** Seconds as hours, minutes or seconds; other units unchanged. */
export function quantityText(quantity: number, unit = "second"): string {
  if (unit !== "second") return `${FINE.format(quantity)} ${unit}`.trimEnd();
  return quantity < 3600 ? shortDuration(quantity * 1000) : `${FINE.format(quantity / 3600)} h`;
}
