import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";

import type { Listing } from "../../../../views/view.ts";
import type { Data } from "../../data/query.ts";
import { useLocation } from "../../router.ts";
import { Loaded } from "../loaded.tsx";
import { Page } from "../page.tsx";
import { type Cells, columnsOf, textOf } from "../shown.tsx";
import { capitalized, number } from "../text.ts";
import { changesColumn, type RowChanges } from "./columns.tsx";
import { FilterBar, type Filtering, useFiltered } from "./filter-bar.tsx";
import { Table, type TableProps } from "./table.tsx";

/** Historical rows: rarely needed, but in time the majority. */
export interface Archive<Row> {
  /** "retired": its name on the page and in the URL, and the id of the column that only these rows fill. */
  readonly word: string;
  contains(row: Row): boolean;
}

interface FilteredTableProps<Row> extends TableProps<Row> {
  readonly filtering: Filtering<Row>;
}

interface ListPageProps<Row> extends Pick<TableProps<Row>, "keyOf" | "hrefOf" | "sort"> {
  readonly view: Listing<Row>;
  /** The plural of the noun unless given. */
  readonly title?: string;
  /** By the name of the column, for those that are shown in another way; null leaves one out. The same object while it is the same. */
  readonly cells?: Cells<Row>;
  /** The same object while it is the same. */
  readonly changes?: RowChanges<Row>;
  readonly actions?: ComponentChildren;
  /** The answer that the rows come from. */
  readonly data: Data<unknown>;
  /** Undefined before they are loaded. */
  readonly rows: readonly Row[] | undefined;
  /** Shows the placeholder although the rows are there, until the rest of them is. */
  readonly isLoading?: boolean;
  /** Shown if there are no rows: what would be here, and how to get it. */
  readonly empty: ComponentChildren;
  readonly archive?: Archive<Row>;
  /** Whether the title has the number of rows. */
  readonly isCounted?: boolean;
  /** Above the table. */
  readonly before?: ComponentChildren;
  /** Below the table. */
  readonly children?: ComponentChildren;
}

/** A page with the table of a view. */
export function ListPage<Row>(props: ListPageProps<Row>) {
  const { view, cells, changes, actions, before, children, data, isLoading = false, isCounted = true, ...list } = props;
  const { empty, archive, rows: all = NO_ROWS, title = capitalized(`${view.noun}s`), ...table } = list;
  const isArchive = useLocation().query.get("show") === archive?.word;
  const filtering = useMemo(() => filteringOf(view), [view]);
  const rows = useMemo(
    () => (archive === undefined ? all : all.filter((row) => archive.contains(row) === isArchive)),
    [all, isArchive],
  );
  const columns = useMemo(() => {
    const shown = columnsOf(view.columns, cells).filter(({ id }) => isArchive || id !== archive?.word);
    return changes === undefined ? shown : [...shown, ...changesColumn(changes)];
  }, [view, changes, isArchive]);
  const isReady = data.state === "ready" && !isLoading;
  const { noun } = view;
  return (
    <Page title={title} count={isReady && isCounted ? number(rows.length) : undefined} actions={actions}>
      {before}
      {archive === undefined ? null : <Parts word={archive.word} isArchive={isArchive} />}
      <Loaded data={data} isLoading={isLoading} what={`the ${noun}s`} lines={12}>
        {() => {
          if (rows.length > 0)
            return <FilteredTable {...table} {...{ noun, rows, columns, filtering }} caption={title} />;
          if (isArchive) return <p class="muted">There is no {`${archive?.word} ${noun}`}.</p>;
          return <EmptyState title={view.empty}>{empty}</EmptyState>;
        }}
      </Loaded>
      {children}
    </Page>
  );
}

/** The filters and the search of a view. */
export function filteringOf<Row>({ filters, columns }: Listing<Row>): Filtering<Row> {
  return { filters, textOf: (row) => textOf(columns, row) };
}

const NO_ROWS: readonly never[] = [];

/** Links to the current rows, and to the historical ones. */
function Parts({ word, isArchive }: { readonly word: string; readonly isArchive: boolean }) {
  const { path, query } = useLocation();
  const pathOf = (show: string | null) => {
    const other = new URLSearchParams(query);
    if (show === null) other.delete("show");
    else other.set("show", show);
    return `${path}?${other.toString()}`.replace(/\?$/, "");
  };
  return (
    <nav class="views" aria-label="Which of them">
      <a href={pathOf(null)} aria-current={isArchive ? undefined : "true"}>
        Current
      </a>
      <a href={pathOf(word)} aria-current={isArchive ? "true" : undefined}>
        {capitalized(word)}
      </a>
    </nav>
  );
}

/** A table with a search and filters above it. */
export function FilteredTable<Row>({ filtering, ...props }: FilteredTableProps<Row>) {
  const { rows, noun } = props;
  const matching = useFiltered(rows, filtering);
  return (
    <>
      <FilterBar rows={rows} matching={matching.length} noun={noun} filters={filtering.filters} />
      {matching.length > 0 ? (
        <Table {...props} rows={matching} />
      ) : (
        <EmptyState title={`No ${noun} matches`}>
          <p>Remove a filter, or shorten the search.</p>
        </EmptyState>
      )}
    </>
  );
}

interface EmptyStateProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

/** Stands in for an empty list: says what would be here and how to get it. */
export function EmptyState({ title, children }: EmptyStateProps) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}
