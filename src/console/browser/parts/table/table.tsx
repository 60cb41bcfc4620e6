import { useMemo, useState } from "preact/hooks";

import { useLocation } from "../../router.ts";
import { capitalized, counted, number } from "../text.ts";
import { useWidth, WIDTHS } from "../use-width.ts";
import type { Column } from "./columns.tsx";
import { readSort, sortRows } from "./sort.ts";
import { Heading, SortSelect } from "./table-sort.tsx";

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
  /** Shows placeholder rows. */
  readonly isLoading?: boolean;
  /** Of a usual row, if its cells have two lines or a button. */
  readonly rowHeight?: string;
  /** Height of a card on a phone. */
  readonly cardHeight?: string;
}

/** Rows rendered at first; a button shows more, so that a list of 100,000 rows still opens. */
const ROWS_SHOWN = 1000;
const LOADING_ROWS = 12;

/**
 * A table, sorted by the URL, with as many columns as fit; on a phone each row is a card. All shown rows are in the document, so that
 * the browser's search and screen readers reach them; CSS skips the layout of rows outside the viewport.
 */
export function Table<Row>(props: TableProps<Row>) {
  const { columns, rows, noun, isLoading = false, rowHeight, cardHeight } = props;
  const width = useWidth();
  const [limit, setLimit] = useState(ROWS_SHOWN);
  const { query } = useLocation();
  // The URL may name a column that only the other part of the list has.
  const sort = readSort(query.get("sort"), columns) ?? readSort(props.sort, columns);
  const shown = useMemo(() => columns.filter(({ from = "phone" }) => WIDTHS[width] >= WIDTHS[from]), [columns, width]);
  const sorted = useMemo(() => sortRows(rows, sort), [rows, sort?.column, sort?.direction]);
  const variables = {
    "--columns": shown.map(({ track }) => track).join(" "),
    ...(rowHeight === undefined ? {} : { "--row-height": rowHeight }),
    ...(cardHeight === undefined ? {} : { "--card-height": cardHeight }),
  };
  const isPhone = width === "phone";
  return (
    <>
      {isPhone ? <SortSelect columns={shown} sort={sort} standard={props.sort} /> : null}
      <table
        role="table"
        class="table"
        style={variables}
        data-cards={isPhone ? "" : undefined}
        aria-busy={isLoading}
        aria-rowcount={rows.length + 1}
      >
        <caption class="visually-hidden">{props.caption ?? capitalized(`${noun}s`)}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {shown.map((column) => (
              <Heading key={column.id} column={column} sort={sort} standard={props.sort} isStatic={isPhone} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {isLoading
            ? Array.from({ length: LOADING_ROWS }, (_, index) => <LoadingRow key={index} columns={shown} />)
            : sorted
                .slice(0, limit)
                .map((row) => <BodyRow key={props.keyOf(row)} row={row} columns={shown} hrefOf={props.hrefOf} />)}
        </tbody>
      </table>
      {sorted.length > limit ? (
        <p class="table-more">
          {number(limit)} of {counted(sorted.length, noun)}.{" "}
          <button type="button" class="button" onClick={() => setLimit(limit + ROWS_SHOWN)}>
            Show {number(Math.min(ROWS_SHOWN, sorted.length - limit))} more
          </button>
        </p>
      ) : null}
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
        {columns.map((column, index) => {
          const { id, name, align, isWideOnCard = false, isPlainOnCard = false } = column;
          const content = column.cell(row);
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
            <td
              key={id}
              role="cell"
              data-name={isPlainOnCard ? undefined : name}
              data-align={align}
              data-wide={isWideOnCard ? "" : undefined}
            >
              {content}
            </td>
          );
        })}
      </tr>
    ),
    [row, columns],
  );
}

function LoadingRow<Row>({ columns }: Pick<RowProps<Row>, "columns">) {
  return (
    <tr role="row">
      {columns.map(({ id }, index) => (
        <td key={id} role="cell">
          <span class="skeleton" style={{ width: index === 0 ? "70%" : "45%" }} />
        </td>
      ))}
    </tr>
  );
}
