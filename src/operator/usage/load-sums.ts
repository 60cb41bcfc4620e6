import { beyondSpec, operations } from "../../api/api.ts";
import { USAGE_SUMMARY_DAYS } from "../../api/usage.ts";
import type { UsageSummary } from "../../api/usage.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { Failure } from "../failure.ts";
import { isUnknownOperation } from "../failure.ts";
import { itemsIn } from "../lists/listed.ts";
import type { Service } from "../service.ts";
import type { Period, SumsBy, UsageSum } from "./sums.ts";
import { inOrder, isWithin, sumUsage } from "./sums.ts";

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
  const { since, until } = period;
  const query = { by, ...(since === null ? {} : { since }), ...(until === null ? {} : { until }) };
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
  const result = await service.listAll(operations.listUsage, ({ items }) => items);
  if (result.kind !== "ok") return result;
  const from = startOf(period, nowMs);
  // An open end stays open: the service's clock may be ahead of this machine's.
  const records = itemsIn(result.value).filter((record) => isWithin(record, { since: from, until }));
  const end = until ?? new Date(nowMs).toISOString();
  return { ...result, value: { since: from, until: end, sums: sumUsage(records, by) } };
}

/** The beginning of a period; by default 30 days before its end, as in the service. */
export function startOf({ since, until }: Period, nowMs: number): string {
  const endMs = until === null ? nowMs : Date.parse(until);
  return since ?? new Date(endMs - USAGE_SUMMARY_DAYS.standard * DAY_MS).toISOString();
}
