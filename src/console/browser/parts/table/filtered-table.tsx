import type { ComponentChildren } from "preact";

import { FilterBar, type Filtering, useFiltered } from "./filter-bar.tsx";
import { Table, type TableProps } from "./table.tsx";

export interface FilteredTableProps<Row> extends TableProps<Row> {
  readonly filtering: Filtering<Row>;
  /** If the rows are a subset: "retired". */
  readonly which?: string;
  /** Placeholder of the search: what it looks through. */
  readonly hint: string;
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
