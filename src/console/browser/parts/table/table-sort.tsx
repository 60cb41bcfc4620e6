/** Controls that sort a table: column headings, and on cards a select. */
import { setParameter } from "../../router.ts";
import { SelectField } from "../form/fields.tsx";
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
  const options = columns
    .filter(({ sortBy }) => sortBy !== undefined)
    .flatMap((column) => [
      { value: nameOf(column.id, "up"), word: `${column.name}, ascending` },
      { value: nameOf(column.id, "down"), word: `${column.name}, descending` },
    ]);
  if (options.length === 0) return null;
  return (
    <SelectField
      label="Sort by"
      className="table-sort"
      value={sort === null ? "" : nameOf(sort.column.id, sort.direction)}
      options={sort === null ? [{ value: "", word: "unsorted" }, ...options] : options}
      change={(value) => setSort(value, standard)}
    />
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
