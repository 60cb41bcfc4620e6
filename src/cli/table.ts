import { cutToWidth, padToWidth, textWidth } from "./text-width.ts";

const GAP = "  ";
/** Narrower columns say nothing. */
const NARROWEST_COLUMN = 12;

/**
 * Lines of a table that is at most `columns` wide: where the cells are wider, the columns of `prose` give way, the widest first, and
 * where that is not enough, each row becomes a block of `HEADER  cell` lines, which the terminal may wrap; empty cells have none.
 *
 * @param headers empty texts for a list of names and values.
 * @param prose headers of the columns that may be cut. No other is: half an id, digest or time is of no use.
 * @param spare headers of the columns that are left out where it would not fit otherwise, the last first.
 */
export function layOutTable(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
  prose: readonly string[],
  spare: readonly string[] = [],
): readonly string[] {
  const titles = headers.map((header) => header.toUpperCase());
  const is_list = headers.every((header) => header === "");
  const lines = is_list ? rows : [titles, ...rows];
  const natural = headers.map((_, index) => widest(lines.map((row) => row[index] ?? "")));
  if (is_list) return lines.map((row) => layOutRow(row, natural));
  const yielding = headers.flatMap((header, index) => (prose.includes(header) ? [index] : []));
  const widths = shrink(natural, columns - GAP.length * (headers.length - 1), yielding);
  if (widths !== null) return lines.map((row) => layOutRow(row, widths));
  const least = headers.lastIndexOf(spare.at(-1) ?? "");
  if (least === -1) return layOutBlocks(titles, rows);
  const without = (row: readonly string[]) => row.toSpliced(least, 1);
  return layOutTable(without(headers), rows.map(without), columns, prose, spare.slice(0, -1));
}

/** Takes from the widest of the `yielding` columns until all fit; null where they would say nothing any more. */
function shrink(natural: readonly number[], room: number, yielding: readonly number[]): readonly number[] | null {
  const widths = [...natural];
  const widthOf = (index: number) => widths[index] ?? 0;
  for (let excess = sum(widths) - room; excess > 0; excess -= 1) {
    const index = yielding.toSorted((a, b) => widthOf(b) - widthOf(a))[0];
    if (index === undefined || widthOf(index) <= NARROWEST_COLUMN) return null;
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
  const name_width = widest(titles);
  return rows.flatMap((row, index) => [
    ...(index === 0 ? [] : [""]),
    ...titles.flatMap((title, column) => {
      const cell = row[column] ?? "";
      return cell === "" ? [] : [`${padToWidth(title, name_width)}${GAP}${cell}`];
    }),
  ]);
}

/** Not as arguments of Math.max: more than a hundred thousand are too many for a call, and a ledger has as many rows. */
function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, textWidth(text)), 0);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
