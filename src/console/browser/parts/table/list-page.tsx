import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";

import type { Section } from "../../../sections.ts";
import type { Data } from "../../data/query.ts";
import { useLocation } from "../../router.ts";
import { ProblemNotice, StaleNotice } from "../notice.tsx";
import { Page } from "../page.tsx";
import { capitalized, number } from "../text.ts";
import { FilterBar, type Filtering, useFiltered } from "./filter-bar.tsx";
import { Table, type TableProps } from "./table.tsx";

/** Historical rows: rarely needed, but in time the majority. */
export interface Archive<Row> {
  /** "retired": its name on the page and in the URL, and the id of the column that only these rows fill. */
  readonly word: string;
  contains(row: Row): boolean;
  /** False while the rows are without these, because the current ones are shown. */
  readonly isLoaded: boolean;
}

interface FilteredTableProps<Row> extends TableProps<Row> {
  readonly filtering: Filtering<Row>;
  /** If the rows are a subset: "retired". */
  readonly which?: string;
  /** Placeholder of the search: what it looks through. */
  readonly hint: string;
}

interface ListProps<Row> extends FilteredTableProps<Row> {
  /** The answer that the rows come from. */
  readonly data: Data<unknown>;
  /** Shown if there are no rows at all: what would be here, and how to get it. */
  readonly emptyTitle: string;
  readonly empty: ComponentChildren;
  readonly archive?: Archive<Row>;
}

interface ListPageProps<Row> extends Omit<ListProps<Row>, "rows"> {
  readonly title: string;
  readonly up?: Section;
  readonly actions?: ComponentChildren;
  /** Undefined before they are loaded. */
  readonly rows: readonly Row[] | undefined;
  /** Whether the title has the number of rows; lists with an archive say it elsewhere. */
  readonly isCounted?: boolean;
  /** Above the table. */
  readonly before?: ComponentChildren;
  /** Below the table. */
  readonly children?: ComponentChildren;
}

/** A page with one table. */
export function ListPage<Row>({ title, up, actions, before, children, ...props }: ListPageProps<Row>) {
  const { data, rows = NO_ROWS, archive, isCounted = archive === undefined } = props;
  const count = isCounted && data.state === "ready" ? number(rows.length) : undefined;
  return (
    <Page title={title} count={count} up={up} actions={actions}>
      {before}
      <List {...props} rows={rows} />
      {children}
    </Page>
  );
}

const NO_ROWS: readonly never[] = [];

/** The table, the empty state, or the problem. */
function List<Row>({ data, emptyTitle, empty, archive, ...props }: ListProps<Row>) {
  const { rows, noun, isLoading = data.state === "loading" } = props;
  const what = `the ${noun}s`;
  if (data.state === "failed") return <ProblemNotice problem={data.problem} what={what} retry={data.retry} />;
  const isEmpty = data.state === "ready" && rows.length === 0;
  const nothing = isEmpty ? <EmptyState title={emptyTitle}>{empty}</EmptyState> : null;
  if (isEmpty && archive?.isLoaded !== false) return nothing;
  return (
    <>
      {data.state === "ready" && data.problem !== null ? <StaleNotice problem={data.problem} what={what} /> : null}
      {archive === undefined ? (
        <FilteredTable {...props} isLoading={isLoading} />
      ) : (
        <ArchiveTable {...props} isLoading={isLoading} archive={archive} nothing={nothing} />
      )}
    </>
  );
}

interface ArchiveTableProps<Row> extends FilteredTableProps<Row> {
  readonly archive: Archive<Row>;
  /** In place of the current rows, if there are none. */
  readonly nothing: ComponentChildren;
}

/** A table of the current rows, with a link to the historical ones. Both show how many rows match the search and filters, once they are loaded. */
function ArchiveTable<Row>({ archive, nothing, ...props }: ArchiveTableProps<Row>) {
  const { rows, columns, noun, filtering, isLoading = false } = props;
  const isArchive = useLocation().query.get("show") === archive.word;
  const current = useMemo(() => rows.filter((row) => !archive.contains(row)), [rows]);
  const past = useMemo(() => rows.filter((row) => archive.contains(row)), [rows]);
  const currentColumns = useMemo(() => columns.filter(({ id }) => id !== archive.word), [columns]);
  const currentCount = useFiltered(current, filtering).length;
  const pastCount = useFiltered(past, filtering).length;
  return (
    <>
      <nav class="views" aria-label={`Which ${noun}s`}>
        <View word="current" show={null} count={isLoading ? null : currentCount} isShown={!isArchive} />
        <View
          word={archive.word}
          show={archive.word}
          count={isLoading || !archive.isLoaded ? null : pastCount}
          isShown={isArchive}
        />
      </nav>
      {isArchive ? (
        <FilteredTable {...props} rows={past} which={archive.word} />
      ) : (
        (nothing ?? <FilteredTable {...props} rows={current} columns={currentColumns} which="current" />)
      )}
    </>
  );
}

interface ViewProps {
  readonly word: string;
  /** Value of `show` in the URL. */
  readonly show: string | null;
  /** Null before it is loaded. */
  readonly count: number | null;
  readonly isShown: boolean;
}

function View({ word, show, count, isShown }: ViewProps) {
  const { path, query: here } = useLocation();
  const query = new URLSearchParams(here);
  if (show === null) query.delete("show");
  else query.set("show", show);
  return (
    <a href={`${path}?${query.toString()}`.replace(/\?$/, "")} aria-current={isShown ? "true" : undefined}>
      {capitalized(word)} <span class="count">{count === null ? "" : number(count)}</span>
    </a>
  );
}

/** A table with a search and filters above it. */
export function FilteredTable<Row>({ filtering, which, hint, ...props }: FilteredTableProps<Row>) {
  const { rows, noun, isLoading = false } = props;
  const matching = useFiltered(rows, filtering);
  const sought = which === undefined ? noun : `${which} ${noun}`;
  return (
    <>
      <FilterBar rows={rows} matching={matching.length} noun={noun} hint={hint} filters={filtering.filters} />
      {rows.length === 0 && !isLoading ? (
        <p class="muted">There is no {sought}.</p>
      ) : matching.length === 0 && !isLoading ? (
        <EmptyState title={`No ${sought} matches`}>
          <p>Remove a filter, or shorten the search.</p>
        </EmptyState>
      ) : (
        <Table {...props} rows={matching} />
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
