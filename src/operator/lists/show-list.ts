import type { CallResult } from "../../client/call-result.ts";
import { isoTime } from "../../platform/clock.ts";
import { createBackoff } from "../../platform/retry.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import { type Failure, failureText, type Sent, showAsItIs } from "../failure.ts";
import { refuse, refuseUsage } from "../refuse.ts";
import type { Now } from "../times.ts";
import type { Service } from "../service.ts";
import { COLUMN_REMEDY, hiddenColumnsText, type ListView, noteHidden, withColumns } from "./columns.ts";
import { documentOf, itemsIn, type Listed, type LoadList } from "./listed.ts";

/**
 * Shows a list: once, or repeatedly with `--watch`.
 *
 * @param sent for failures. @param loaded the first result, if the list was fetched already.
 */
export async function showList<Item>(
  service: Service,
  load: LoadList<Item>,
  view: ListView<Item>,
  sent: Pick<Sent, "missing"> = {},
  loaded?: CallResult<Listed<Item>>,
): Promise<ExitCode> {
  const shown = withColumns(view, service.flags);
  if ("code" in shown) return refuse(shown, EXIT.usage, service.terminal);
  if (service.flags.watch === true) return watchList(service, load, shown, sent, loaded);
  const result = loaded ?? (await load());
  if (result.kind !== "ok") return showAsItIs(result, service.terminal) ?? service.failed(result, sent);
  return service.answer(documentOf(result.value), () => showRows(service, shown, itemsIn(result.value)));
}

/** Prints a table of the items, and names the columns that the terminal is too narrow for. */
export function showRows<Item>(
  service: Service,
  { headers, row, prose, spare, below, empty }: ListView<Item>,
  items: readonly Item[],
): void {
  const { flags, terminal } = service;
  if (items.length === 0) {
    terminal.note(empty);
    return;
  }
  const now = service.now();
  const rows = items.map((item) => row(item, now));
  const columns = flags.wide === true ? Number.POSITIVE_INFINITY : undefined;
  const hidden = terminal.table(headers, rows, prose, spare, columns);
  const unnamed = hidden.filter((header) => header !== below?.column);
  noteHidden(unnamed, COLUMN_REMEDY, terminal);
  if (below !== undefined && hidden.includes(below.column)) below.show(items, now);
}

/** Seconds between two requests. */
const INTERVAL_S = { default: 2, minimum: 1, maximum: 3600 } as const;
/** While the service is unreachable. */
const BACKOFF = { firstMs: 2000, capMs: 60_000 } as const;

interface Row {
  readonly cells: readonly string[];
  readonly document: unknown;
  /** As JSON, to detect changes. */
  readonly text: string;
}

/**
 * Shows a list until interrupted. A terminal shows one table that is redrawn; otherwise, and with `--wide`, the list is printed once, then a
 * line for each item that is added, changed or removed. With `--json` each line is a JSON document.
 */
async function watchList<Item>(
  service: Service,
  load: LoadList<Item>,
  view: ListView<Item>,
  sent: Sent,
  loaded?: CallResult<Listed<Item>>,
): Promise<ExitCode> {
  const { machine, signal, terminal } = service.context;
  const intervalMs = readInterval(service.flags.interval);
  if (intervalMs === null) {
    const what = `--interval is not a number of seconds from ${INTERVAL_S.minimum} to ${INTERVAL_S.maximum}`;
    return refuseUsage(what, `leave it out for ${INTERVAL_S.default}`, terminal);
  }
  const backoff = createBackoff({ ...BACKOFF, random: machine.random });
  const show = createView(view, service);
  let isLost = false;
  let isFirst = true;
  for (let result = loaded ?? (await load()); ; result = await load()) {
    signal.throwIfAborted();
    if (result.kind === "ok") {
      show(result.value);
      backoff.reset();
      isFirst = false;
      isLost = false;
      await machine.clock.sleep(intervalMs, signal);
      continue;
    }
    if (isFirst || !isTemporary(result)) return service.failed(result, sent);
    if (!isLost) terminal.note(`${failureText(result)}; trying again`);
    isLost = true;
    await machine.clock.sleep(backoff.nextMs(result.kind === "refused" ? result.retryAfterMs : null), signal);
  }
}

/** @returns milliseconds; null for an invalid interval. */
function readInterval(text: string | undefined): number | null {
  if (text === undefined) return INTERVAL_S.default * 1000;
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  return seconds >= INTERVAL_S.minimum && seconds <= INTERVAL_S.maximum ? seconds * 1000 : null;
}

/** Failures after which `--watch` continues, because they may be temporary. */
export function isTemporary(failure: Failure): boolean {
  if (failure.kind === "refused") return failure.status === 429 || failure.status >= 500;
  return failure.kind === "unreachable" || failure.kind === "undecodable";
}

function createView<Item>(view: ListView<Item>, service: Service) {
  const { flags, terminal } = service;
  let before: ReadonlyMap<string, Row> | null = null;
  return (listed: Listed<Item>) => {
    const now = service.now();
    // Lines that are wider than the terminal cannot be redrawn.
    if (flags.json !== true && flags.wide !== true && terminal.interactive) {
      terminal.draw(linesOf(view, itemsIn(listed), now, terminal));
      return;
    }
    const rows = new Map(
      listed.records.map(({ value, document }) => {
        const text = JSON.stringify([document, flags.json === true ? null : view.beside?.(value)]);
        return [view.id(value), { cells: view.row(value, now), document, text }];
      }),
    );
    if (before === null && flags.json !== true) showRows(service, view, itemsIn(listed));
    else printChanges(before ?? new Map(), rows, isoTime(now.ms), flags.json === true, terminal);
    before = rows;
  };
}

function linesOf<Item>(view: ListView<Item>, items: readonly Item[], now: Now, terminal: Terminal): readonly string[] {
  if (items.length === 0) return [view.empty];
  const rows = items.map((item) => view.row(item, now));
  const { lines, hidden } = terminal.layOutTable(view.headers, rows, view.prose, view.spare);
  // Above the rows, because the end of a long list is not visible.
  return hidden.length === 0 ? lines : [terminal.style("dim", hiddenColumnsText(hidden, COLUMN_REMEDY)), ...lines];
}

function printChanges(
  before: ReadonlyMap<string, Row>,
  rows: ReadonlyMap<string, Row>,
  at: string,
  json: boolean,
  terminal: Terminal,
): void {
  const report = (change: "new" | "changed" | "gone", { cells, document }: Row) => {
    if (json) terminal.jsonLine({ at, change, item: document });
    else terminal.print([`${at.slice(0, 19)}Z`, change.padEnd(7), ...cells.filter((cell) => cell !== "")].join("  "));
  };
  for (const [id, row] of rows) {
    const old = before.get(id);
    if (old === undefined) report("new", row);
    else if (old.text !== row.text) report("changed", row);
  }
  for (const [id, row] of before) {
    if (!rows.has(id)) report("gone", row);
  }
}
