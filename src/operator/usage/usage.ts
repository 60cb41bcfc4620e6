import type { UsageRecord } from "../../api/usage.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { csvLine } from "../../platform/text/csv.ts";
import type { OperatorCommand, OperatorContext } from "../context.ts";
import { showAsItIs } from "../failure.ts";
import type { OperatorFlags } from "../flags.ts";
import { type ListView, withColumns } from "../lists/columns.ts";
import { documentOf, itemsIn } from "../lists/listed.ts";
import { showRows } from "../lists/show-list.ts";
import { readMomentFlag } from "../moments.ts";
import { withService } from "../operator.ts";
import { refuse, refuseFlags } from "../refuse.ts";
import type { Service } from "../service.ts";
import {
  listRecords,
  loadUsageSums,
  type Period,
  quantityText,
  RECORD_MEMBERS,
  recordCells,
  startOf,
  type SummedUsage,
  SUMS_BY,
  type SumsBy,
  sumUsage,
} from "./sums.ts";

/** `usage`: the ledger, or its sums by robot, model or day; by default of the last 30 days. */
export const usage: OperatorCommand = async (flags, context) => {
  const { terminal } = context;
  const period = readPeriod(flags, context);
  if (period === null) return EXIT.usage;
  const view = withColumns(RECORDS, flags);
  if ("code" in view) return refuse(view, EXIT.usage, terminal);
  const by = SUMS_BY.find((each) => each === flags.by);
  return withService(flags, context, async (service) => {
    if (by !== undefined) {
      const result = await loadUsageSums(service, by, period, service.now().ms);
      return result.kind === "ok" ? showSums(service, result.value, by) : service.failed(result);
    }
    const since = startOf(period, service.now().ms);
    const result = await listRecords(service, { ...period, since });
    if (result.kind !== "ok")
      return (flags.csv === true ? null : showAsItIs(result, terminal)) ?? service.failed(result);
    return service.answer(documentOf(result.value), () => showRecords(service, view, itemsIn(result.value)));
  });
};

const RECORDS: ListView<UsageRecord> = {
  headers: ["period", "robot", "model", "quantity", "deployment"],
  prose: ["robot", "model"],
  spare: ["deployment"],
  row: (record) => [
    minuteOf(record.period_start ?? record.created_at ?? ""),
    record.robot ?? "",
    record.model_slug ?? "",
    quantityText(record.quantity ?? 0, record.unit ?? ""),
    record.deployment_id ?? "",
  ],
  id: ({ id }) => id,
  empty: "Nothing was used in this period; --since sets an earlier start.",
};

function showRecords(service: Service, view: ListView<UsageRecord>, records: readonly UsageRecord[]): void {
  const { flags, terminal } = service;
  if (flags.csv === true) {
    terminal.printText([RECORD_MEMBERS, ...records.map(recordCells)].map(csvLine).join("\n"));
    return;
  }
  showRows(service, view, records);
  for (const { unit, quantity } of sumUsage(records, null)) {
    terminal.note(`In all ${quantityText(quantity, unit)}. Times are UTC.`);
  }
}

function showSums({ answer, flags, terminal }: Service, { since, until, sums }: SummedUsage, by: SumsBy): ExitCode {
  return answer({ by, since, until, items: sums }, () => {
    if (flags.csv === true) {
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

/** @returns null after reporting what is wrong with the flags. */
function readPeriod({ since, until }: OperatorFlags, context: OperatorContext): Period | null {
  const from = since === undefined ? undefined : readMomentFlag("--since", since, context);
  const to = until === undefined ? undefined : readMomentFlag("--until", until, context);
  if (from === null || to === null) return null;
  if (from !== undefined && to !== undefined && from.timeMs >= to.timeMs) {
    return refuseFlags("--since is not before --until", "give the earlier time to --since", context.terminal);
  }
  return { since: from?.iso ?? null, until: to?.iso ?? null };
}
