import type { CallResult } from "../../client/call-result.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import { showAsItIs } from "../failure.ts";
import { wordFix } from "../flags.ts";
import { refuse } from "../refuse.ts";
import type { Service } from "../service.ts";
import type { Now } from "../times.ts";
import { documentOf, itemsIn, type Listed } from "./listed.ts";

/** How a list is shown as a table. */
export interface ListView<Item> {
  readonly headers: readonly string[];
  /** Headers of the columns that are shown unless `--columns` names others; all by default. */
  readonly usual?: readonly string[];
  /** Headers of columns whose text may be cut. */
  readonly prose?: readonly string[];
  /** Headers of columns that a narrow terminal leaves out, the last first. */
  readonly spare?: readonly string[];
  /** Cells in the order of the headers. */
  readonly row: (item: Item, now: Now) => readonly string[];
  /** Printed for an empty list. */
  readonly empty: string;
  /** Prints a column's content below the table where the terminal is too narrow for the column. */
  readonly below?: { readonly column: string; show(items: readonly Item[], now: Now): void };
}

/** The columns of every list, as a flag chooses them. */
interface ColumnFlags {
  /** Comma-separated names. */
  readonly columns?: string | undefined;
}

/** Shows a fetched list. */
export function showList<Item>(service: Service, result: CallResult<Listed<Item>>, view: ListView<Item>): ExitCode {
  if (result.kind !== "ok") return showAsItIs(result, service.terminal) ?? service.failed(result);
  return showRows(service, view, itemsIn(result.value), documentOf(result.value));
}

/** Shows items as a table with the columns of `--columns`, or the document with `--json`; names the columns that the terminal is too narrow for. */
export function showRows<Item>(
  service: Service,
  view: ListView<Item>,
  items: readonly Item[],
  document: unknown,
): ExitCode {
  const { flags, terminal } = service;
  const { headers, row, prose, below, empty } = view;
  const named = namedColumns(flags);
  const strange = named.find((name) => !headers.includes(name));
  if (strange !== undefined || (flags.columns !== undefined && named.length === 0)) {
    const what = `--columns '${strange ?? ""}' is not a column of this list`;
    return refuse({ code: "usage", what, fix: wordFix(strange ?? "", headers, "it has") }, EXIT.usage, terminal);
  }
  return service.answer(document, () => {
    if (items.length === 0) {
      terminal.note(empty);
      return;
    }
    const now = service.now();
    const isNamed = named.length > 0;
    const shown = isNamed ? named : (view.usual ?? headers);
    const indexes = shown.map((name) => headers.indexOf(name));
    const rows = items.map((item) => {
      const cells = row(item, now);
      // Scripts rely on the number of columns: each named one is shown, and an empty cell has a dash.
      return indexes.map((index) => cells[index] || (isNamed ? "-" : ""));
    });
    const hidden = terminal.table(shown, rows, prose, isNamed ? [] : view.spare);
    const unnamed = hidden.filter((header) => header !== below?.column);
    noteHidden(unnamed, "--columns shows them", terminal);
    if (below !== undefined && hidden.includes(below.column)) below.show(items, now);
  });
}

/** Headers of the columns in `--columns`: `last-used` is the column `last used`. */
export function namedColumns({ columns }: ColumnFlags): readonly string[] {
  const names = columns?.split(",").map((name) => name.trim().toLowerCase().replaceAll(/[-_]/g, " "));
  return names?.filter((name) => name !== "") ?? [];
}

/** Names the columns that a narrow terminal leaves out, if any. */
export function noteHidden(hidden: readonly string[], remedy: string, terminal: Terminal): void {
  if (hidden.length === 0) return;
  terminal.note(
    `${hidden.length} ${hidden.length === 1 ? "column" : "columns"} hidden: ${hidden.join(", ")}; ${remedy}`,
  );
}

/** For a table inside other output. */
export const DOCUMENT_REMEDY = "a wider terminal or --json shows them";

export type Fact = readonly [name: string, value: string];

/** Prints one name and value per line, without empty values. */
export function showFacts(terminal: Terminal, facts: readonly Fact[]): void {
  for (const line of factLines(facts)) terminal.print(line);
}

/** The same on stderr, for what a person is shown before a question. */
export function noteFacts(terminal: Terminal, facts: readonly Fact[]): void {
  for (const line of factLines(facts)) terminal.note(line);
}

function factLines(facts: readonly Fact[]): readonly string[] {
  const given = facts.filter(([, value]) => value !== "");
  const width = Math.max(0, ...given.map(([name]) => name.length));
  return given.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
}

let collator: Intl.Collator | undefined;

/** `arm-9` before `arm-10`. The collator is made at the first use: that takes 30 ms, and most commands compare no names. */
export function compareNames(left: string, right: string): number {
  collator ??= new Intl.Collator("en", { numeric: true });
  return collator.compare(left, right);
}
