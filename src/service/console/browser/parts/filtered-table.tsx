import { EmptyState } from "./empty-state.tsx";
import type { Filtering } from "./filter-bar.tsx";
import { FilterBar, useFiltered } from "./filter-bar.tsx";
import type { TableProps } from "./table.tsx";
import { Table } from "./table.tsx";

interface FilteredTableProps<Row> extends TableProps<Row> {
  readonly filtering: Filtering<Row>;
  /** What the search looks through. */
  readonly hint: string;
}

/** A table, with a search and filters above it. */
export function FilteredTable<Row>({ filtering, hint, ...props }: FilteredTableProps<Row>) {
  const { rows, noun, is_loading = false } = props;
  const matching = useFiltered(rows, filtering);
  return (
    <>
      <FilterBar rows={rows} matching={matching.length} noun={noun} hint={hint} filters={filtering.filters} />
      {matching.length === 0 && !is_loading ? (
        <EmptyState title={`No ${noun} matches`}>
          <p>Take a filter away, or search for less.</p>
        </EmptyState>
      ) : (
        <Table {...props} rows={matching} />
      )}
    </>
  );
}
