/** Sorting of tables: what the address asks for, and the headings and the field that change it. */
import { useId } from "preact/hooks";

import { setQuery } from "../router.ts";
import type { Column } from "./column.ts";
import { Icon } from "./icon.tsx";
import { compareTexts } from "./text.ts";

export interface Sort<Row> {
  readonly column: Column<Row>;
  readonly direction: "up" | "down";
}

interface HeadingProps<Row> {
  readonly column: Column<Row>;
  readonly sort: Sort<Row> | null;
  readonly standard: string | undefined;
  /** Not in sight: cards have no headings, and sort by a field above them. */
  readonly is_static: boolean;
}

export function Heading<Row>({ column, sort, standard, is_static }: HeadingProps<Row>) {
  const { id, name, align } = column;
  const direction = sort?.column.id === id ? sort.direction : null;
  if (column.sortBy === undefined || is_static) {
    return (
      <th role="columnheader" scope="col" data-align={align}>
        <span class="table-head">{name}</span>
      </th>
    );
  }
  const next = nextSort(column, direction);
  const change = () => setSort(next, standard);
  return (
    <th
      role="columnheader"
      scope="col"
      data-align={align}
      aria-sort={direction === null ? undefined : direction === "up" ? "ascending" : "descending"}
    >
      <button type="button" class="table-head" onClick={change}>
        {name}
        {direction === null ? null : <Icon name={direction} />}
      </button>
    </th>
  );
}

interface SortSelectProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly sort: Sort<Row> | null;
  readonly standard: string | undefined;
}

/** What the headings of a table are, for cards. */
export function SortSelect<Row>({ columns, sort, standard }: SortSelectProps<Row>) {
  const id = useId();
  const value = sort === null ? "" : nameOf(sort.column.id, sort.direction);
  const options = columns
    .filter(({ sortBy }) => sortBy !== undefined)
    .flatMap((column) => [
      { value: nameOf(column.id, "up"), word: `${column.name}, ascending` },
      { value: nameOf(column.id, "down"), word: `${column.name}, descending` },
    ]);
  if (options.length === 0) return null;
  return (
    <p class="table-sort">
      <label class="field-label" for={id}>
        Sort by
      </label>
      <select
        id={id}
        class="input"
        value={value}
        onChange={({ currentTarget }) => setSort(currentTarget.value, standard)}
      >
        {sort === null ? <option value="">as they come</option> : null}
        {options.map(({ value: each, word }) => (
          <option key={each} value={each}>
            {word}
          </option>
        ))}
      </select>
    </p>
  );
}

function setSort(sort: string, standard: string | undefined): void {
  setQuery((query) => {
    if (sort === standard || sort === "") query.delete("sort");
    else query.set("sort", sort);
  });
}

function nameOf(id: string, direction: "up" | "down"): string {
  return direction === "down" ? `-${id}` : id;
}

function nextSort<Row>({ id, first }: Column<Row>, direction: "up" | "down" | null): string {
  const isDown = direction === null ? first === "down" : direction === "up";
  return nameOf(id, isDown ? "down" : "up");
}

export function readSort<Row>(text: string | undefined, columns: readonly Column<Row>[]): Sort<Row> | null {
  if (text === undefined) return null;
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
