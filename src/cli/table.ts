import { cutToWidth, padToWidth, textWidth } from "../platform/text/text-width.ts";

const GAP = "  ";
/** The minimum width of a cut column. */
const NARROWEST_COLUMN = 12;
/** Prose is cut to this width before spare columns are hidden. */
const READABLE_COLUMN = 40;

/** The lines of a table. */
export interface TableLayout {
  readonly lines: readonly string[];
  /** Headers of the hidden columns, in the order of the table. */
  readonly hidden: readonly string[];
}

/**
 * Lines of a table with at most `columns` columns of the terminal. When it is too wide, first the `prose` columns are cut a little, the
 * widest first, then the `spare` columns are hidden, then prose is cut to the minimum, then the lines are cut. Empty columns are left out.
 *
 * @param headers empty texts for a list of names and values, which is never cut.
 * @param prose headers of the columns that may be cut. Others are not, because half an id, digest or time is useless.
 * @param spare headers of the columns that may be hidden, the last first.
 */
export function layOutTable(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
  prose: readonly string[] = [],
  spare: readonly string[] = [],
): TableLayout {
  const isList = headers.every((header) => header === "");
  const lines = isList ? rows : [headers.map((header) => header.toUpperCase()), ...rows];
  const naturalOf = (index: number) => widest(lines.map((row) => row[index] ?? ""));
  const isEmpty = (index: number) => rows.length > 0 && rows.every((row) => (row[index] ?? "") === "");
  let shown = headers
    .map((header, index) => ({ header, index, width: naturalOf(index) }))
    .filter(({ index }) => isList || !isEmpty(index));
  const hidden = new Set<string>();
  for (;;) {
    const least = spare.findLast((name) => shown.some(({ header }) => header === name));
    const room = columns - GAP.length * (shown.length - 1);
    const fitted = isList
      ? shown
      : shrink(shown, room, prose, least === undefined ? NARROWEST_COLUMN : READABLE_COLUMN);
    const isFit = isList || widthOf(fitted) <= room;
    if (isFit || least === undefined) {
      const texts = lines.map((row) => layOutRow(row, fitted));
      const kept = isFit ? texts : texts.map((text) => cutToWidth(text, columns));
      return { lines: kept, hidden: headers.filter((header) => hidden.has(header)) };
    }
    hidden.add(least);
    shown = shown.filter(({ header }) => header !== least);
  }
}

interface Column {
  readonly header: string;
  readonly index: number;
  readonly width: number;
}

/** Shortens the widest of the `prose` columns until all fit, or none is wider than `narrowest`. */
function shrink(all: readonly Column[], room: number, prose: readonly string[], narrowest: number): readonly Column[] {
  const columns = [...all];
  for (let excess = widthOf(columns) - room; excess > 0; excess -= 1) {
    const yielding = columns.filter(({ header, width }) => prose.includes(header) && width > narrowest);
    const [widestOne] = yielding.toSorted((a, b) => b.width - a.width);
    if (widestOne === undefined) return columns;
    columns.splice(columns.indexOf(widestOne), 1, { ...widestOne, width: widestOne.width - 1 });
  }
  return columns;
}

function widthOf(columns: readonly Column[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0);
}

function layOutRow(row: readonly string[], columns: readonly Column[]): string {
  return columns
    .map(({ index, width }) => padToWidth(cutToWidth(row[index] ?? "", width), width))
    .join(GAP)
    .trimEnd();
}

/** A loop, because Math.max fails with more than about a hundred thousand arguments, and a ledger can have more rows. */
function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, textWidth(text)), 0);
}
