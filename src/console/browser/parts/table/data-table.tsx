import type { ComponentChildren } from "preact";

import type { Data } from "../../data/use-data.ts";
import { ProblemNotice, StaleNotice } from "../notice.tsx";
import { EmptyState } from "./empty-state.tsx";
import type { FilteredTableProps } from "./filtered-table.tsx";
import { FilteredTable } from "./filtered-table.tsx";
import type { Archive } from "./archive-table.tsx";
import { ArchiveTable } from "./archive-table.tsx";

interface DataTableProps<Row> extends FilteredTableProps<Row> {
  /** The answer that the rows come from. */
  readonly data: Data<unknown>;
  /** Shown if there are no rows at all: what would be here, and how to get it. */
  readonly emptyTitle: string;
  readonly empty: ComponentChildren;
  readonly archive?: Archive<Row>;
}

/** The content of a list page: its table, the empty state, or the problem. */
export function DataTable<Row>({ data, emptyTitle, empty, archive, ...props }: DataTableProps<Row>) {
  const { rows, noun, isLoading = data.state === "loading" } = props;
  const what = `the ${noun}s`;
  if (data.state === "failed") return <ProblemNotice problem={data.problem} what={what} retry={data.retry} />;
  if (data.state === "ready" && rows.length === 0) return <EmptyState title={emptyTitle}>{empty}</EmptyState>;
  return (
    <>
      {data.state === "ready" && data.problem !== null ? <StaleNotice problem={data.problem} what={what} /> : null}
      {archive === undefined ? (
        <FilteredTable {...props} isLoading={isLoading} />
      ) : (
        <ArchiveTable {...props} isLoading={isLoading} archive={archive} />
      )}
    </>
  );
}
