import { beyondSpec, operations } from "../../api/api.ts";
import { USAGE_SUMMARY_DAYS, type UsageRecord, type UsageSummary } from "../../api/usage.ts";
import type { CallResult } from "../../client/call-result.ts";
import { isoTime } from "../../platform/clock.ts";
import { shortDuration } from "../../platform/text/relative-time.ts";
import { type Failure, isUnknownOperation } from "../failure.ts";
import { itemsIn, keepListed, type Listed } from "../lists/listed.ts";
import type { Service } from "../service.ts";

/** From `since` (inclusive) to `until` (exclusive); ISO 8601, null for no bound. */
export interface Period {
  readonly since: string | null;
  readonly until: string | null;
}

export const SUMS_BY = ["robot", "model", "day"] as const;
export type SumsBy = (typeof SUMS_BY)[number];

/** The sum for one robot, model or day, in one unit. */
interface UsageSum {
  readonly name: string;
  readonly quantity: number;
  readonly unit: string;
  /** Null where nobody is billed, or the service does not show it. */
  readonly amount_cents: number | null;
}

/** CSV columns of a record, named as in the service. */
export const RECORD_MEMBERS = [
  "id",
  "created_at",
  "usage_type",
  "sku",
  "quantity",
  "unit",
  "amount_cents",
  "deployment_id",
  "robot",
  "model_slug",
  "period_start",
  "period_end",
] as const;

export function recordCells(record: UsageRecord): readonly (string | number | null | undefined)[] {
  return RECORD_MEMBERS.map((member) => record[member]);
}

/** The entries of the ledger in a period. A service that does not know the query answers with all of them. */
export async function listRecords(service: Service, period: Period): Promise<CallResult<Listed<UsageRecord>>> {
  const result = await service.listAll(operations.listUsage, ({ items }) => items, { query: boundsOf(period) });
  if (result.kind !== "ok") return result;
  return { ...result, value: keepListed(result.value, (record) => isWithin(record, period)) };
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
 * @param by days are in UTC; null for one total.
 */
export function sumUsage(records: readonly UsageRecord[], by: SumsBy | null): readonly UsageSum[] {
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
function inOrder(sums: readonly UsageSum[], by: SumsBy | null): readonly UsageSum[] {
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

function nameFor(record: UsageRecord, by: SumsBy | null): string {
  switch (by) {
    case "robot":
      return record.robot ?? "";
    case "model":
      return record.model_slug ?? "";
    case "day":
      return beginningOf(record).slice(0, 10);
    case null:
      return "all";
  }
}

function beginningOf({ period_start: periodStart, created_at: createdAt }: UsageRecord): string {
  return periodStart ?? createdAt ?? "";
}

function addCents(sum: number | null, cents: number | null): number | null {
  return cents === null ? sum : (sum ?? 0) + cents;
}

/** Sums, and their period. */
export interface SummedUsage {
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
export async function loadUsageSums(
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
  const result = await listRecords(service, { since, until });
  if (result.kind !== "ok") return result;
  return { ...result, value: { since, until: until ?? isoTime(nowMs), sums: sumUsage(itemsIn(result.value), by) } };
}

/** The beginning of a period; by default 30 days before its end, as in the service. */
export function startOf({ since, until }: Period, nowMs: number): string {
  const endMs = until === null ? nowMs : Date.parse(until);
  return since ?? isoTime(endMs - USAGE_SUMMARY_DAYS.standard * DAY_MS);
}
