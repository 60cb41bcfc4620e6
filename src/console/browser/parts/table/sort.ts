/** Sorting of tables, by the column and direction in the URL. */
import { compareTexts } from "../text.ts";
import type { Column } from "./columns.tsx";

export interface Sort<Row> {
  readonly column: Column<Row>;
  readonly direction: "up" | "down";
}

export function readSort<Row>(text: string | null | undefined, columns: readonly Column<Row>[]): Sort<Row> | null {
  if (text === null || text === undefined) return null;
  const direction = text.startsWith("-") ? "down" : "up";
  const column = columns.find(({ id, sortBy }) => sortBy !== undefined && id === text.replace(/^-/, ""));
  return column === undefined ? null : { column, direction };
}

export function sortRows<Row>(rows: readonly Row[], sort: Sort<Row> | null): readonly Row[] {
  if (sort === null) return rows;
  const { column, direction } = sort;
  const sign = direction === "up" ? 1 : -1;
  const keyed = rows.map((row) => ({ row, by: column.sortBy?.(row) ?? null }));
  keyed.sort((left, right) => compare(left.by, right.by, sign));
  return keyed.map(({ row }) => row);
}

function compare(left: string | number | null, right: string | number | null, sign: number): number {
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  if (typeof left === "number" && typeof right === "number") return sign * (left - right);
  return sign * compareTexts(String(left), String(right));
}
