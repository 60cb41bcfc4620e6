import type { UsageGrouping, UsageSummary } from "../../../api/usage.ts";
import { type Outcome, request } from "../data/request.ts";
import { serviceNow } from "../data/service-clock.ts";
import { type Answer, useAnswer } from "../data/use-answer.ts";
import { DAY_MS, dayOf, daysOf, lengthOf, type UsageRange } from "./range.ts";

/** What usage is grouped by, besides the day. */
export type UsageBy = "robot" | "model";

export interface UsageSeries {
  readonly name: string;
  readonly seconds: number;
  readonly days: number;
}

/** A day in UTC, `2026-11-21`, with the usage by name; days without usage are included. */
export interface UsageDay {
  readonly day: string;
  readonly seconds: number;
  readonly byName: ReadonlyMap<string, number>;
}

export interface Usage {
  readonly range: UsageRange;
  readonly by: UsageBy;
  readonly seconds: number;
  /** Largest first. */
  readonly series: readonly UsageSeries[];
  readonly days: readonly UsageDay[];
  /** Whether days are broken down by name; false if that would take too many requests. */
  readonly hasNames: boolean;
  readonly askedAtMs: number;
}

/** USAGE_SUMS_MAXIMUM of src/api/usage.ts. */
const SUMS_MAXIMUM = 10_000;
/** Most requests for days by name; beyond that, days are not broken down. */
const ANSWERS_MAXIMUM = 40;

/**
 * The usage of a range. It is not requested again on events: the service reads its whole ledger for it.
 *
 * @param range null sends no request.
 */
export function useUsage(range: UsageRange | null, by: UsageBy): Answer<Usage> {
  const days = range === null ? [] : [range.firstMs, range.lastMs, lengthOf(range)];
  return useAnswer([...days, by].join(" "), range === null ? null : (signal) => askUsage(range, by, signal));
}

/** Requests the sums by name first: their number decides how many requests the days by name take. */
async function askUsage(range: UsageRange, by: UsageBy, signal: AbortSignal): Promise<Outcome<Usage>> {
  const names = await askSummary(range, by, signal);
  if (names.state !== "answered") return names;
  const daysAtOnce = Math.floor(SUMS_MAXIMUM / Math.max(1, names.value.items.length));
  const count = daysOf(range);
  const hasNames = daysAtOnce > 0 && count <= daysAtOnce * ANSWERS_MAXIMUM;
  const step = hasNames ? daysAtOnce : count;
  const sums: UsageSummary["items"] = [];
  for (let day = 0; day < count; day += step) {
    const sinceMs = Math.max(range.sinceMs, range.firstMs + day * DAY_MS);
    const untilMs = Math.min(range.untilMs, range.firstMs + (day + step) * DAY_MS);
    const part = await askSummary({ sinceMs, untilMs }, hasNames ? `day,${by}` : "day", signal);
    if (part.state !== "answered") return part;
    sums.push(...part.value.items);
  }
  return { state: "answered", value: usageOf(range, by, { sums, hasNames, names: names.value.items }) };
}

/** The first of the days with the most usage; undefined without any. */
export function busiestOf(days: readonly UsageDay[]): UsageDay | undefined {
  const most = Math.max(...days.map(({ seconds }) => seconds));
  return most > 0 ? days.find(({ seconds }) => seconds === most) : undefined;
}

type TimeSpan = Pick<UsageRange, "sinceMs" | "untilMs">;

function askSummary({ sinceMs, untilMs }: TimeSpan, by: UsageGrouping, signal: AbortSignal) {
  const query = new URLSearchParams({
    since: new Date(sinceMs).toISOString(),
    until: new Date(untilMs).toISOString(),
    by,
  });
  return request<UsageSummary>("GET", `/v1/me/usage/summary?${query.toString()}`, { signal });
}

interface Sums {
  readonly sums: UsageSummary["items"];
  readonly hasNames: boolean;
  /** Sums over all days. */
  readonly names: UsageSummary["items"];
}

function usageOf(range: UsageRange, by: UsageBy, { sums, hasNames, names }: Sums): Usage {
  const byDay = new Map<string, Map<string, number>>();
  for (const sum of sums) {
    const day = sum.day ?? "";
    const ofDay = byDay.get(day) ?? new Map<string, number>();
    byDay.set(day, ofDay.set(hasNames ? nameOf(sum, by) : "", sum.quantity));
  }
  const days = Array.from({ length: daysOf(range) }, (_, index) => {
    const day = dayOf(range.firstMs + index * DAY_MS);
    const byName = byDay.get(day) ?? new Map<string, number>();
    return { day, byName, seconds: [...byName.values()].reduce((total, seconds) => total + seconds, 0) };
  });
  return {
    range,
    by,
    hasNames,
    days,
    seconds: days.reduce((total, { seconds }) => total + seconds, 0),
    series: hasNames ? seriesOf(days) : withoutDays(names, by),
    askedAtMs: serviceNow(),
  };
}

/** Computed from the days, so that table and chart agree while usage grows. */
function seriesOf(days: readonly UsageDay[]): readonly UsageSeries[] {
  const series = new Map<string, { seconds: number; days: number }>();
  for (const { byName } of days) {
    for (const [name, seconds] of byName) {
      const known = series.get(name) ?? { seconds: 0, days: 0 };
      series.set(name, { seconds: known.seconds + seconds, days: known.days + 1 });
    }
  }
  const list = [...series].map(([name, { seconds, days: count }]) => ({ name, seconds, days: count }));
  return list.sort((left, right) => right.seconds - left.seconds);
}

function withoutDays(names: UsageSummary["items"], by: UsageBy): readonly UsageSeries[] {
  const list = names.map((sum) => ({ name: nameOf(sum, by), seconds: sum.quantity, days: 0 }));
  return list.sort((left, right) => right.seconds - left.seconds);
}

function nameOf({ robot, model_slug: modelSlug }: UsageSummary["items"][number], by: UsageBy): string {
  return (by === "robot" ? robot : modelSlug) ?? "unknown";
}
