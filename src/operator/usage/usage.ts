import { beyondSpec, operations } from "../../api/api.ts";
import type { UsageRecord, UsageSummary } from "../../api/usage.ts";
import type { CallResult } from "../../client/call-result.ts";
import { isoTime } from "../../platform/clock.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import {
  boundsOf,
  dayAfter,
  type Days,
  daysOfMonth,
  inOrder,
  isDay,
  lastDays,
  lastMonth,
  USAGE_BY,
  type UsageBy,
  usageColumns,
  usageFileColumns,
  type UsageSum,
  USUAL_DAYS,
} from "../../views/usage.ts";
import { command, type OperatorRow } from "../command.ts";
import { documentOfFailure, type Failure, isUnknownOperation } from "../failure.ts";
import { choice, CSV, type Given, text } from "../flags.ts";
import { documentOf, itemsIn } from "../lists/listed.ts";
import { showAsItIs, showRows } from "../lists/show-list.ts";
import { type ListView, tableOf } from "../lists/shown.ts";
import { refuse, refuseFlags } from "../refuse.ts";
import type { Service } from "../service.ts";

const USAGE = {
  month: text("<month>", "a whole month: 2026-10, or last for the one before this", {
    excludes: ["--since", "--until"],
  }),
  since: text("<day>", `first day: 2026-01-31, or 7d for the last 7 days (default: ${USUAL_DAYS}d)`),
  until: text("<day>", "the day after the last one: 2026-02-01 (default: with today)"),
  by: choice("<what>", "sum up by robot, model or day (default: robot)", USAGE_BY),
  ...CSV,
};

export const usageCommands: readonly OperatorRow[] = [
  command({
    name: "usage",
    summary: "show the usage, by robot, model or day; days are in UTC",
    flags: USAGE,
    examples: [
      "robot-policy usage --since 30d --by model",
      "robot-policy usage --month 2026-10 --by robot --csv > october.csv",
      "robot-policy usage --since 2026-01-01 --until 2026-02-01 --by day",
    ],
    run: usage,
  }),
];

/** The sums of whole days, by default of the last 30. */
async function usage(service: Service, flags: Given<typeof USAGE>): Promise<ExitCode> {
  const { terminal } = service;
  const days = readDays(flags, service);
  if (days === null) return EXIT.usage;
  const { by = "robot" } = flags;
  const result = await loadSums(service, by, days);
  if (result.kind !== "ok") {
    if (flags.csv === true && documentOfFailure(result) !== undefined) {
      const what = "this service names things otherwise than robot-policy knows, so there are no sums";
      return refuse({ code: "unknown-answer", what, fix: "leave --csv out" }, EXIT.unreachable, terminal);
    }
    return showAsItIs(result, service) ?? service.failed(result);
  }
  const { since, until, sums } = result.value;
  const total = sums.reduce((sum, { quantity }) => sum + quantity, 0);
  const period = `from ${days.first} to ${days.last}, in whole days (UTC)`;
  const view: ListView<UsageSum> = {
    ...tableOf({ columns: usageColumns(by, total), empty: `Nothing was used ${period}` }),
    csvColumns: usageFileColumns(by),
  };
  const exitCode = showRows(service, view, sums, { by, since, until, items: sums });
  if (sums.length > 0 && flags.csv !== true && service.flags.json !== true) terminal.note(`Used ${period}.`);
  return exitCode;
}

/** @returns null after reporting what is wrong with the flags. */
function readDays({ month, since, until }: Given<typeof USAGE>, service: Service): Days | null {
  const { terminal } = service;
  const nowMs = service.now().ms;
  if (month !== undefined) {
    const days = daysOfMonth(month === "last" ? lastMonth(nowMs) : month);
    return days ?? refuseFlags(`--month '${month}' is not a month`, "write it as 2026-10, or last", terminal);
  }
  if (until !== undefined && !isDay(until)) {
    return refuseFlags(`--until '${until}' is not a day`, "write it as 2026-02-01", terminal);
  }
  const last = until === undefined ? lastDays(1, nowMs).last : dayAfter(until, -1);
  const [, count] = /^(\d{1,4})d$/.exec(since ?? `${USUAL_DAYS}d`) ?? [];
  const first = count === undefined ? since : dayAfter(last, 1 - Math.max(1, Number(count)));
  if (!isDay(first)) {
    return refuseFlags(
      `--since '${since}' is not a day`,
      "write it as 2026-01-31, or 7d for the last 7 days",
      terminal,
    );
  }
  if (first <= last) return { first, last };
  return refuseFlags("--since is not before --until", "give the earlier day to --since", terminal);
}

/** Sums, and their period in ISO 8601. */
interface SummedUsage {
  readonly since: string;
  readonly until: string;
  readonly sums: readonly UsageSum[];
}

/** Sums up the usage of days by the service's summary, else by the ledger, which has an entry per robot and hour. */
async function loadSums(service: Service, by: UsageBy, days: Days): Promise<CallResult<SummedUsage>> {
  const nowMs = service.now().ms;
  const { since, until } = boundsOf(days, nowMs);
  // An open end stays open: the service's clock may be ahead of this machine's.
  const query = { since, ...(until === null ? {} : { until }) };
  const summary = await service.call(beyondSpec.summarizeUsage, { query: { by, ...query } });
  if (summary.kind === "ok") return { ...summary, value: fromSummary(summary.value.value, by) };
  if (!isMoreThanSummed(summary)) return summary;
  const ledger = await service.listAll(operations.listUsage, ({ items }) => items, { query });
  if (ledger.kind !== "ok") return ledger;
  if (!itemsIn(ledger.value).every(isSummable)) {
    const detail = "an entry of the ledger has no quantity or no time";
    return { kind: "undecodable", status: ledger.status, detail, isJson: true, document: documentOf(ledger.value) };
  }
  // A service that does not know the query answers with all records.
  const records = itemsIn(ledger.value).filter((record) => isWithin(record, since, until));
  return { ...ledger, value: { since, until: until ?? isoTime(nowMs), sums: sumUsage(records, by) } };
}

function isSummable(record: UsageRecord): boolean {
  return typeof record.quantity === "number" && !Number.isNaN(Date.parse(beginningOf(record)));
}

/** The service lacks the summary, or refuses so long a period. */
function isMoreThanSummed(failure: Failure): boolean {
  if (failure.kind === "undecodable") return true;
  return isUnknownOperation(failure) || (failure.kind === "refused" && failure.status === 422);
}

function fromSummary({ since, until, unit, items }: UsageSummary, by: UsageBy): SummedUsage {
  const sums = items.map(({ day, robot, model_slug: modelSlug, quantity }) => {
    const name = { day, robot, model: modelSlug }[by] ?? "";
    return { name, quantity, unit, amount_cents: null };
  });
  return { since, until, sums: inOrder(sums, by) };
}

/** A record counts in the period in which it begins, so that the sums of months add up. */
export function isWithin(record: UsageRecord, since: string, until: string | null): boolean {
  const atMs = Date.parse(beginningOf(record));
  return atMs >= Date.parse(since) && (until === null || atMs < Date.parse(until));
}

/** Sums up records: the largest sum first, days in order. */
export function sumUsage(records: readonly UsageRecord[], by: UsageBy): readonly UsageSum[] {
  const sums = new Map<string, UsageSum>();
  for (const record of records) {
    const name = nameFor(record, by);
    const unit = record.unit ?? "";
    const key = JSON.stringify([name, unit]);
    const before = sums.get(key) ?? { name, quantity: 0, unit, amount_cents: null };
    const cents = record.amount_cents ?? null;
    sums.set(key, {
      ...before,
      quantity: before.quantity + (record.quantity ?? 0),
      amount_cents: cents === null ? before.amount_cents : (before.amount_cents ?? 0) + cents,
    });
  }
  return inOrder([...sums.values()], by);
}

function nameFor(record: UsageRecord, by: UsageBy): string {
  return { robot: record.robot, model: record.model_slug, day: beginningOf(record).slice(0, 10) }[by] ?? "";
}

function beginningOf({ period_start: periodStart, created_at: createdAt }: UsageRecord): string {
  return periodStart ?? createdAt ?? "";
}
