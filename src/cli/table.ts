import type { TableLayout } from "../platform/terminal.ts";
import { cutToWidth, padToWidth, textWidth } from "../platform/text/text-width.ts";

const GAP = "  ";
/** The minimum width of a cut column. */
const NARROWEST_COLUMN = 12;
/** Prose is cut to this width before spare columns are hidden. */
const READABLE_COLUMN = 40;

/**
 * Lines of a table with at most `columns` columns of the terminal. When it is too wide, first the `prose` columns are cut a little, the
 * widest first, then the `spare` columns are hidden, then prose is cut to the minimum. When that is not enough, each row becomes a block of
 * `HEADER  cell` lines, which the terminal may wrap, without empty cells.
 *
 * Empty columns are left out.
 *
 * @param headers empty texts for a list of names and values.
 * @param prose headers of the columns that may be cut. Others are not, because half an id, digest or time is useless.
 * @param spare headers of the columns that may be hidden, the last first.
 */
export function layOutTable(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
  prose: readonly string[],
  spare: readonly string[] = [],
): TableLayout {
  const titles = headers.map((header) => header.toUpperCase());
  const isList = headers.every((header) => header === "");
  const lines = isList ? rows : [titles, ...rows];
  const natural = headers.map((_, index) => widest(lines.map((row) => row[index] ?? "")));
  const all = (laidOut: readonly string[]): TableLayout => ({ lines: laidOut, hidden: [] });
  if (isList) return all(lines.map((row) => layOutRow(row, natural)));
  const without = (column: number) => (row: readonly string[]) => row.toSpliced(column, 1);
  const empty = headers.findIndex((_, index) => rows.length > 0 && rows.every((row) => (row[index] ?? "") === ""));
  if (empty !== -1) return layOutTable(without(empty)(headers), rows.map(without(empty)), columns, prose, spare);
  const yielding = headers.flatMap((header, index) => (prose.includes(header) ? [index] : []));
  const least = spare.findLast((header) => headers.includes(header));
  const narrowest = least === undefined ? NARROWEST_COLUMN : READABLE_COLUMN;
  const widths = shrink(natural, columns - GAP.length * (headers.length - 1), yielding, narrowest);
  if (widths !== null) return all(lines.map((row) => layOutRow(row, widths)));
  if (least === undefined) return all(layOutBlocks(titles, rows));
  const leave = without(headers.indexOf(least));
  const narrower = layOutTable(leave(headers), rows.map(leave), columns, prose, spare);
  return { ...narrower, hidden: headers.filter((header) => header === least || narrower.hidden.includes(header)) };
}

/** Shortens the widest of the `yielding` columns until all fit; null when one would become narrower than `narrowest`. */
function shrink(
  natural: readonly number[],
  room: number,
  yielding: readonly number[],
  narrowest: number,
): readonly number[] | null {
  const widths = [...natural];
  const widthOf = (index: number) => widths[index] ?? 0;
  for (let excess = sum(widths) - room; excess > 0; excess -= 1) {
    const index = yielding.toSorted((a, b) => widthOf(b) - widthOf(a))[0];
    if (index === undefined || widthOf(index) <= narrowest) return null;
    widths[index] = widthOf(index) - 1;
  }
  return widths;
}

function layOutRow(row: readonly string[], widths: readonly number[]): string {
  return widths
    .map((width, index) => padToWidth(cutToWidth(row[index] ?? "", width), width))
    .join(GAP)
    .trimEnd();
}

function layOutBlocks(titles: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const nameWidth = widest(titles);
  return rows.flatMap((row, index) => [
    ...(index === 0 ? [] : [""]),
    ...titles.flatMap((title, column) => {
      const cell = row[column] ?? "";
      return cell === "" ? [] : [`${padToWidth(title, nameWidth)}${GAP}${cell}`];
    }),
  ]);
}

/** A loop, because Math.max fails with more than about a hundred thousand arguments, and a ledger can have more rows. */
function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, textWidth(text)), 0);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
