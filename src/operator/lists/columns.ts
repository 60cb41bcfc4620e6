import type { Problem, Terminal } from "../../platform/terminal.ts";
import type { OperatorFlags } from "../flags.ts";
import { wordFix } from "../refuse.ts";
import type { Now } from "../times.ts";

/** How a list is shown as a table. */
export interface ListView<Item> {
  readonly headers: readonly string[];
  /** Headers of columns whose text may be cut. */
  readonly prose?: readonly string[];
  /** Headers of columns that a narrow terminal leaves out, the last first. */
  readonly spare?: readonly string[];
  /** Cells in the order of the headers. */
  readonly row: (item: Item, now: Now) => readonly string[];
  /** Identifies an item across updates. */
  readonly id: (item: Item) => string;
  /** What an item shows that is not in its document; a change of it counts, too. */
  readonly beside?: (item: Item) => unknown;
  /** Printed for an empty list. */
  readonly empty: string;
  /** Prints a column's content below the table where the terminal is too narrow for the column. */
  readonly below?: { readonly column: string; show(items: readonly Item[], now: Now): void };
}

/** Headers of the columns in `--columns`: `last-used` is the column `last used`. */
export function namedColumns({ columns }: OperatorFlags): readonly string[] {
  const names = columns?.split(",").map((name) => name.trim().toLowerCase().replaceAll(/[-_]/g, " "));
  return names?.filter((name) => name !== "") ?? [];
}

/** The view with the columns of `--columns`, in that order; a problem for an unknown column. */
export function withColumns<Item>(view: ListView<Item>, flags: OperatorFlags): ListView<Item> | Problem {
  if (flags.columns === undefined) return view;
  const { headers, row } = view;
  const named = namedColumns(flags);
  const strange = named.find((name) => !headers.includes(name));
  if (strange !== undefined || named.length === 0) {
    const what = `--columns '${strange ?? ""}' is not a column of this list`;
    return { code: "usage", what, fix: wordFix(strange ?? "", headers, "it has") };
  }
  const indexes = named.map((name) => headers.indexOf(name));
  return {
    ...view,
    headers: named,
    // With --columns every named column is shown: scripts rely on their number.
    spare: [],
    row(item, now) {
      const cells = row(item, now);
      return indexes.map((index) => (cells[index] === "" ? "-" : (cells[index] ?? "-")));
    },
  };
}

/** Prints which columns a narrow terminal leaves out, if any. */
export function noteHidden(hidden: readonly string[], remedy: string, terminal: Terminal): void {
  if (hidden.length > 0) terminal.note(hiddenColumnsText(hidden, remedy));
}

export function hiddenColumnsText(hidden: readonly string[], remedy: string): string {
  return `${hidden.length} ${hidden.length === 1 ? "column" : "columns"} hidden: ${hidden.join(", ")}; ${remedy}`;
}

/** For a list. */
export const COLUMN_REMEDY = "--wide or --columns";
/** For a table inside other output. */
export const DOCUMENT_REMEDY = "a wider terminal or --json shows them";
