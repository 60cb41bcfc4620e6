import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";

import type { Section } from "../../../sections.ts";
import type { Data } from "../../data/query.ts";
import { useLocation } from "../../router.ts";
import { Loaded } from "../loaded.tsx";
import { Page } from "../page.tsx";
import { capitalized, number } from "../text.ts";
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
  /** Placeholder of the search: what it looks through. */
  readonly hint: string;
}

interface ListPageProps<Row> extends Omit<FilteredTableProps<Row>, "rows"> {
  readonly title: string;
  readonly up?: Section;
  readonly actions?: ComponentChildren;
  /** The answer that the rows come from. */
  readonly data: Data<unknown>;
  /** Undefined before they are loaded. */
  readonly rows: readonly Row[] | undefined;
  /** Shows the placeholder although the rows are there, until the rest of them is. */
  readonly isLoading?: boolean;
  /** Shown if there are no rows: what would be here, and how to get it. */
  readonly emptyTitle: string;
  readonly empty: ComponentChildren;
  readonly archive?: Archive<Row>;
  /** Whether the title has the number of rows. */
  readonly isCounted?: boolean;
  /** Above the table. */
  readonly before?: ComponentChildren;
  /** Below the table. */
  readonly children?: ComponentChildren;
}

/** A page with one table. */
export function ListPage<Row>(props: ListPageProps<Row>) {
  const { title, up, actions, before, children, data, isLoading = false, isCounted = true, ...list } = props;
  const { emptyTitle, empty, archive, rows: all = NO_ROWS, columns: known, ...table } = list;
  const isArchive = useLocation().query.get("show") === archive?.word;
  const rows = useMemo(
    () => (archive === undefined ? all : all.filter((row) => archive.contains(row) === isArchive)),
    [all, isArchive],
  );
  const columns = useMemo(
    () => (isArchive ? known : known.filter(({ id }) => id !== archive?.word)),
    [known, isArchive],
  );
  const isReady = data.state === "ready" && !isLoading;
  return (
    <Page title={title} count={isReady && isCounted ? number(rows.length) : undefined} up={up} actions={actions}>
      {before}
      {archive === undefined ? null : <Parts word={archive.word} isArchive={isArchive} />}
      <Loaded data={data} isLoading={isLoading} what={`the ${table.noun}s`} lines={12}>
        {() => {
          if (rows.length > 0) return <FilteredTable {...table} rows={rows} columns={columns} />;
          if (isArchive) return <p class="muted">There is no {`${archive?.word} ${table.noun}`}.</p>;
          return <EmptyState title={emptyTitle}>{empty}</EmptyState>;
        }}
      </Loaded>
      {children}
    </Page>
  );
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
export function FilteredTable<Row>({ filtering, hint, ...props }: FilteredTableProps<Row>) {
  const { rows, noun } = props;
  const matching = useFiltered(rows, filtering);
  return (
    <>
      <FilterBar rows={rows} matching={matching.length} noun={noun} hint={hint} filters={filtering.filters} />
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
