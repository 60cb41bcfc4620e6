import { nearest } from "../../manifest/nearest.ts";
import type { Problem, Terminal } from "../../platform/terminal.ts";

/** How a list is shown to a person. */
export interface ListView<Item> {
  readonly headers: readonly string[];
  /** The headers of columns that may be cut. */
  readonly prose?: readonly string[];
  /** The headers of columns that a narrow terminal does without, the last first. */
  readonly spare?: readonly string[];
  /** Cells in the order of the headers. */
  readonly row: (item: Item, nowMs: number) => readonly string[];
  /** What stays the same when the rest of an item changes. */
  readonly id: (item: Item) => string;
  /** The sentence for a list with nothing in it. */
  readonly empty: string;
  /** Tells what a column holds below the table, where the terminal has no room for that column. */
  readonly below?: { readonly column: string; tell(items: readonly Item[], nowMs: number): void };
}

export interface ColumnFlags {
  readonly wide?: boolean;
  /** Names with commas between. */
  readonly columns?: string;
}

/** The columns that `--columns` names, as headers: `last-used` is the column `last used`. */
export function namedColumns({ columns }: ColumnFlags): readonly string[] {
  const names = columns?.split(",").map((name) => name.trim().toLowerCase().replaceAll(/[-_]/g, " "));
  return names?.filter((name) => name !== "") ?? [];
}

/** The view with the columns that `--columns` names, in that order; or why there is none. */
export function withColumns<Item>(view: ListView<Item>, flags: ColumnFlags): ListView<Item> | Problem {
  if (flags.columns === undefined) return view;
  const { headers, row } = view;
  const named = namedColumns(flags);
  const strange = named.find((name) => !headers.includes(name));
  if (strange !== undefined || named.length === 0) {
    const meant = nearest(strange ?? "", headers);
    const fix = meant === undefined ? `it has ${headers.join(", ")}` : `did you mean ${meant}?`;
    return { code: "usage", what: `--columns '${strange ?? ""}' is no column of this list`, fix };
  }
  const indexes = named.map((name) => headers.indexOf(name));
  return {
    ...view,
    headers: named,
    // Whoever names the columns wants all of them, and counts on their number.
    spare: [],
    row(item, nowMs) {
      const cells = row(item, nowMs);
      return indexes.map((index) => (cells[index] === "" ? "-" : (cells[index] ?? "-")));
    },
  };
}

/** Says which columns a narrow terminal has no room for; nothing where it shows all. */
export function noteHidden(hidden: readonly string[], remedy: string, terminal: Terminal): void {
  if (hidden.length > 0) terminal.note(hiddenInWords(hidden, remedy));
}

export function hiddenInWords(hidden: readonly string[], remedy: string): string {
  return `${hidden.length} ${hidden.length === 1 ? "column" : "columns"} hidden: ${hidden.join(", ")}; ${remedy}`;
}

/** For a list. */
export const COLUMN_REMEDY = "--wide or --columns";
/** For a table in the midst of other things. */
export const DOCUMENT_REMEDY = "a wider terminal or --json shows them";
