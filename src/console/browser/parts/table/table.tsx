import { counted } from "../../../../views/view.ts";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";

import { setParameter, useLocation } from "../../router.ts";
import { Icon } from "../icon.tsx";
import { capitalized, number } from "../text.ts";
import { createStore, useStore } from "../../store.ts";
import type { Column } from "./columns.tsx";
import { readSort, type Sort, sortRows } from "./sort.ts";

export interface TableProps<Row> {
  /** For screen readers; the plural of the noun unless given. */
  readonly caption?: string;
  /** "robot" */
  readonly noun: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  keyOf(row: Row): string;
  /** URL of a row's page. */
  hrefOf?(row: Row): string;
  /** Default sort: "name", "-changed". Without it the rows keep their order. */
  readonly sort?: string;
}

/** The smallest page in CSS pixels that shows a column. */
const WIDTHS = { medium: 1100, wide: 1400 } as const;

/** The largest of these that the page has. Measured before the first rendering, so that nothing moves afterwards. */
const pageWidth = createStore(measure());
addEventListener("resize", () => pageWidth.set(measure()));

function measure(): number {
  // `innerWidth` includes the scroll bar, as media queries do.
  return Math.max(0, ...Object.values(WIDTHS).filter((width) => innerWidth >= width));
}

/** Rows rendered, so that a list of 100,000 rows still opens. */
const ROWS_SHOWN = 2000;

/**
 * A table, sorted by the URL, with the columns that fit; on a phone it scrolls sideways. All shown rows are in the document, so that the
 * browser's search and screen readers reach them; CSS skips the layout of rows outside the viewport.
 */
export function Table<Row>(props: TableProps<Row>) {
  const { columns, rows, noun } = props;
  const width = useStore(pageWidth);
  const { query } = useLocation();
  // The URL may name a column that only the other part of the list has.
  const sort = readSort(query.get("sort"), columns) ?? readSort(props.sort, columns);
  const shown = useMemo(
    () => columns.filter(({ from }) => from === undefined || width >= WIDTHS[from]),
    [columns, width],
  );
  const sorted = useMemo(() => sortRows(rows, sort), [rows, sort?.column, sort?.direction]);
  const caption = props.caption ?? capitalized(`${noun}s`);
  return (
    <>
      <div class="table-scroll">
        <table
          role="table"
          class="table"
          style={{ "--columns": shown.map(({ track }) => track).join(" ") }}
          aria-rowcount={rows.length + 1}
        >
          <caption class="visually-hidden">{caption}</caption>
          <thead role="rowgroup">
            <tr role="row">
              {shown.map((column) => (
                <Heading key={column.id} column={column} sort={sort} standard={props.sort} />
              ))}
            </tr>
          </thead>
          <tbody role="rowgroup">
            {sorted.slice(0, ROWS_SHOWN).map((row) => (
              <BodyRow key={props.keyOf(row)} row={row} columns={shown} hrefOf={props.hrefOf} />
            ))}
          </tbody>
        </table>
      </div>
      {rows.length <= ROWS_SHOWN ? null : (
        <p class="table-more">
          The first {number(ROWS_SHOWN)} of {counted(rows.length, noun)}. The search finds the others.
        </p>
      )}
    </>
  );
}

interface RowProps<Row> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  hrefOf: ((row: Row) => string) | undefined;
}

/** Memoized by the row object: each key of a search renders up to a thousand rows. */
function BodyRow<Row>({ row, columns, hrefOf }: RowProps<Row>) {
  return useMemo(
    () => (
      <tr role="row">
        {columns.map(({ id, cell }, index) => {
          const content = cell(row);
          return index === 0 ? (
            <th key={id} role="rowheader" scope="row">
              {hrefOf === undefined ? (
                content
              ) : (
                <a class="row-link" href={hrefOf(row)}>
                  {content}
                </a>
              )}
            </th>
          ) : (
            <td key={id} role="cell">
              {content}
            </td>
          );
        })}
      </tr>
    ),
    [row, columns],
  );
}

interface HeadingProps<Row> {
  readonly column: Column<Row>;
  readonly sort: Sort<Row> | null;
  readonly standard: string | undefined;
}

/** The heading of a column; a button if the column is sortable. */
function Heading<Row>({ column: { id, name, sortBy, first }, sort, standard }: HeadingProps<Row>) {
  const direction = sort?.column.id === id ? sort.direction : null;
  const isDownNext = direction === null ? first === "down" : direction === "up";
  const next = isDownNext ? `-${id}` : id;
  return (
    <th
      role="columnheader"
      scope="col"
      aria-sort={direction === null ? undefined : direction === "up" ? "ascending" : "descending"}
    >
      {sortBy === undefined ? (
        <span class="table-head">{name}</span>
      ) : (
        <button type="button" class="table-head" onClick={() => setParameter("sort", next === standard ? "" : next)}>
          {name}
          {direction === null ? null : <Icon name={direction} />}
        </button>
      )}
    </th>
  );
}

interface SmallTableProps {
  /** For screen readers. */
  readonly label: string;
  readonly heads: readonly string[];
  readonly className?: string;
  readonly children: ComponentChildren;
}

/** A simple table inside a page. If it is wider than the page, it scrolls sideways, by the keyboard too. */
export function SmallTable({ label, heads, className = "", children }: SmallTableProps) {
  return (
    <div class={`scroll-x ${className}`} tabIndex={0} role="group" aria-label={label}>
      <table class="plain-table">
        <caption class="visually-hidden">{label}</caption>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
