import { beyondSpec, operations } from "../../api/api.ts";
import { USAGE_SUMMARY_DAYS, type UsageRecord, type UsageSummary } from "../../api/usage.ts";
import type { CallResult } from "../../client/call-result.ts";
import { isoTime } from "../../platform/clock.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { csvLine } from "../../platform/text/csv.ts";
import { shortDuration } from "../../platform/text/relative-time.ts";
import { command, type OperatorRow } from "../command.ts";
import { type Failure, isUnknownOperation, showAsItIs } from "../failure.ts";
import { choice, CSV, type Given, text } from "../flags.ts";
import { itemsIn } from "../lists/listed.ts";
import { readMomentFlag, SINCE_FORMS } from "../moments.ts";
import { refuseFlags } from "../refuse.ts";
import type { Service } from "../service.ts";

/** From `since` (inclusive) to `until` (exclusive); ISO 8601, null for no bound. */
export interface Period {
  readonly since: string | null;
  readonly until: string | null;
}

const SUMS_BY = ["robot", "model", "day"] as const;
type SumsBy = (typeof SUMS_BY)[number];

const USAGE = {
  since: text("<when>", SINCE_FORMS),
  until: text("<when>", "end, in the same formats (default: now)"),
  by: choice("<what>", "sum up by robot, model or day (default: robot)", SUMS_BY),
  ...CSV,
};

/** What was used. */
export const usageCommands: readonly OperatorRow[] = [
  command({
    name: "usage",
    summary: "show the usage, by robot, model or day",
    flags: USAGE,
    examples: [
      "robot-policy usage --since 30d --by model",
      "robot-policy usage --since 2026-01-01 --until 2026-02-01 --by day --csv > january.csv",
    ],
    run: usage,
  }),
];

/** The sums of a period, by default of the last 30 days. */
async function usage(service: Service, flags: Given<typeof USAGE>): Promise<ExitCode> {
  const period = readPeriod(flags, service);
  if (period === null) return EXIT.usage;
  const { by = "robot" } = flags;
  const result = await loadUsageSums(service, by, period, service.now().ms);
  if (result.kind === "ok") return showSums(service, result.value, by, flags.csv === true);
  return (flags.csv === true ? null : showAsItIs(result, service.terminal)) ?? service.failed(result);
}

/** @returns null after reporting what is wrong with the flags. */
function readPeriod({ since, until }: Given<typeof USAGE>, { context, terminal }: Service): Period | null {
  const from = since === undefined ? undefined : readMomentFlag("--since", since, context);
  const to = until === undefined ? undefined : readMomentFlag("--until", until, context);
  if (from === null || to === null) return null;
  if (from !== undefined && to !== undefined && from.timeMs >= to.timeMs) {
    return refuseFlags("--since is not before --until", "give the earlier time to --since", terminal);
  }
  return { since: from?.iso ?? null, until: to?.iso ?? null };
}

function showSums(
  { answer, terminal }: Service,
  { since, until, sums }: SummedUsage,
  by: SumsBy,
  isCsv: boolean,
): ExitCode {
  return answer({ by, since, until, items: sums }, () => {
    if (isCsv) {
      const rows = sums.map(({ name, quantity, unit, amount_cents: cents }) => [name, quantity, unit, cents]);
      terminal.printText([[by, "quantity", "unit", "amount_cents"], ...rows].map(csvLine).join("\n"));
      return;
    }
    if (sums.length > 0) {
      const most = sums.reduce((largest, { quantity }) => Math.max(largest, quantity), 0);
      const rows = sums.map(({ name, quantity, unit }) => [name, quantityText(quantity, unit), bar(quantity, most)]);
      terminal.table([by, "quantity", "share"], rows, [by], ["share"]);
    }
    const what = sums.length === 0 ? "Nothing was used" : "Used";
    terminal.note(`${what} from ${minuteOf(since)} to ${minuteOf(until)}, UTC.`);
  });
}

function minuteOf(iso: string): string {
  return iso.slice(0, "2026-01-31T08:00".length).replace("T", " ");
}

const BAR_CELLS = 20;

function bar(quantity: number, most: number): string {
  return most <= 0 ? "" : "█".repeat(Math.max(quantity > 0 ? 1 : 0, Math.round((quantity / most) * BAR_CELLS)));
}

/** The sum for one robot, model or day, in one unit. */
interface UsageSum {
  readonly name: string;
  readonly quantity: number;
  readonly unit: string;
  /** Null where nobody is billed, or the service does not show it. */
  readonly amount_cents: number | null;
}

function boundsOf({ since, until }: Period): Readonly<Partial<Record<keyof Period, string>>> {
  return { ...(since === null ? {} : { since }), ...(until === null ? {} : { until }) };
}

/** A record counts in the period in which it begins, so that the sums of months add up. */
export function isWithin(record: UsageRecord, { since, until }: Period): boolean {
  const atMs = Date.parse(beginningOf(record));
  if (since !== null && !(atMs >= Date.parse(since))) return false;
  return until === null || atMs < Date.parse(until);
}

/**
 * Sums up records: the largest sum first, days in order.
 *
 * @param by days are in UTC.
 */
export function sumUsage(records: readonly UsageRecord[], by: SumsBy): readonly UsageSum[] {
  const sums = new Map<string, UsageSum>();
  for (const record of records) {
    const name = nameFor(record, by);
    const unit = record.unit ?? "";
    const key = JSON.stringify([name, unit]);
    const before = sums.get(key) ?? { name, quantity: 0, unit, amount_cents: null };
    sums.set(key, {
      ...before,
      quantity: before.quantity + (record.quantity ?? 0),
      amount_cents: addCents(before.amount_cents, record.amount_cents ?? null),
    });
  }
  return inOrder([...sums.values()], by);
}

/** The largest first, days in order. */
function inOrder(sums: readonly UsageSum[], by: SumsBy): readonly UsageSum[] {
  return by === "day"
    ? sums.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    : sums.toSorted((a, b) => b.quantity - a.quantity);
}

/** Seconds as hours and minutes, other units unchanged. */
export function quantityText(quantity: number, unit: string): string {
  const rounded = Math.round(quantity * 100) / 100;
  if (!/seconds?$/.test(unit)) return `${rounded} ${unit}`.trimEnd();
  const of = unit.replace(/_?seconds?$/, "").replaceAll("_", " ");
  const hours = quantity / 3600;
  const length = hours >= 1 ? `${hours.toFixed(hours >= 100 ? 0 : 1)} h` : shortDuration(quantity * 1000);
  return `${of} ${length}`.trimStart();
}

function nameFor(record: UsageRecord, by: SumsBy): string {
  switch (by) {
    case "robot":
      return record.robot ?? "";
    case "model":
      return record.model_slug ?? "";
    case "day":
      return beginningOf(record).slice(0, 10);
  }
}

function beginningOf({ period_start: periodStart, created_at: createdAt }: UsageRecord): string {
  return periodStart ?? createdAt ?? "";
}

function addCents(sum: number | null, cents: number | null): number | null {
  return cents === null ? sum : (sum ?? 0) + cents;
}

/** Sums, and their period. */
interface SummedUsage {
  /** ISO 8601. */
  readonly since: string;
  readonly until: string;
  readonly sums: readonly UsageSum[];
}

const DAY_MS = 86_400_000;

/**
 * Sums up the usage of a period, by default the last 30 days. Uses the service's summary, else fetches the ledger, which has an entry per
 * robot and hour, and sums it up here.
 */
async function loadUsageSums(
  service: Service,
  by: SumsBy,
  period: Period,
  nowMs: number,
): Promise<CallResult<SummedUsage>> {
  const query = { by, ...boundsOf(period) };
  const result = await service.call(beyondSpec.summarizeUsage, { query });
  if (result.kind === "ok") return { ...result, value: fromSummary(result.value.value, by) };
  return isMoreThanSummed(result) ? fromLedger(service, by, period, nowMs) : result;
}

/** The service lacks the summary, or refuses so long a period. */
function isMoreThanSummed(failure: Failure): boolean {
  if (failure.kind === "undecodable") return true;
  return isUnknownOperation(failure) || (failure.kind === "refused" && failure.status === 422);
}

function fromSummary({ since, until, unit, items }: UsageSummary, by: SumsBy): SummedUsage {
  const sums = items.map(({ day, robot, model_slug: modelSlug, quantity }) => {
    const name = { day, robot, model: modelSlug }[by] ?? "";
    return { name, quantity, unit, amount_cents: null };
  });
  return { since, until, sums: inOrder(sums, by) };
}

async function fromLedger(
  service: Service,
  by: SumsBy,
  period: Period,
  nowMs: number,
): Promise<CallResult<SummedUsage>> {
  const { until } = period;
  // An open end stays open: the service's clock may be ahead of this machine's.
  const since = startOf(period, nowMs);
  const query = boundsOf({ since, until });
  const result = await service.listAll(operations.listUsage, ({ items }) => items, { query });
  if (result.kind !== "ok") return result;
  // A service that does not know the query answers with all records.
  const records = itemsIn(result.value).filter((record) => isWithin(record, { since, until }));
  return { ...result, value: { since, until: until ?? isoTime(nowMs), sums: sumUsage(records, by) } };
}

/** The beginning of a period; by default 30 days before its end, as in the service. */
function startOf({ since, until }: Period, nowMs: number): string {
  const endMs = until === null ? nowMs : Date.parse(until);
  return since ?? isoTime(endMs - USAGE_SUMMARY_DAYS.standard * DAY_MS);
}
