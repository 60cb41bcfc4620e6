/** Controls that sort a table: column headings, and on cards a select. */
import { useId } from "preact/hooks";

import { setParameter } from "../../router.ts";
import { Icon } from "../icon.tsx";
import type { Column } from "./columns.tsx";
import type { Sort } from "./sort.ts";

interface HeadingProps<Row> {
  readonly column: Column<Row>;
  readonly sort: Sort<Row> | null;
  readonly standard: string | undefined;
  /** Plain text without a button: cards hide the headings and use `SortSelect` instead. */
  readonly isStatic: boolean;
}

export function Heading<Row>({ column, sort, standard, isStatic }: HeadingProps<Row>) {
  const { id, name, align } = column;
  const direction = sort?.column.id === id ? sort.direction : null;
  if (column.sortBy === undefined || isStatic) {
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

/** Replaces the headings where rows are cards. */
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
        {sort === null ? <option value="">unsorted</option> : null}
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
  setParameter("sort", sort === standard ? "" : sort);
}

function nameOf(id: string, direction: "up" | "down"): string {
  return direction === "down" ? `-${id}` : id;
}

function nextSort<Row>({ id, first }: Column<Row>, direction: "up" | "down" | null): string {
  const isDown = direction === null ? first === "down" : direction === "up";
  return nameOf(id, isDown ? "down" : "up");
}
