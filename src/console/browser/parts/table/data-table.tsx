import type { ComponentChildren } from "preact";

import type { Data } from "../../data/use-data.ts";
import { ProblemNotice, StaleNotice } from "../notice.tsx";
import type { FilteredTableProps } from "./filtered-table.tsx";
import { FilteredTable } from "./filtered-table.tsx";
import type { Over } from "./over-table.tsx";
import { OverTable } from "./over-table.tsx";

interface DataTableProps<Row> extends FilteredTableProps<Row> {
  /** What the rows are of. */
  readonly data: Data<unknown>;
  /** Where there is none yet: what would be here, and how to get it. */
  readonly empty: ComponentChildren;
  readonly over?: Over<Row>;
}

/** What a page of many shows: its table, what is there before the first, or why there is neither. */
export function DataTable<Row>({ data, empty, over, ...props }: DataTableProps<Row>) {
  const { rows, noun, isLoading = data.state === "loading" } = props;
  const what = `the ${noun}s`;
  if (data.state === "failed") return <ProblemNotice problem={data.problem} what={what} retry={data.retry} />;
  if (data.state === "ready" && rows.length === 0) return <>{empty}</>;
  return (
    <>
      {data.state === "ready" && data.problem !== null ? <StaleNotice problem={data.problem} what={what} /> : null}
      {over === undefined ? (
        <FilteredTable {...props} isLoading={isLoading} />
      ) : (
        <OverTable {...props} isLoading={isLoading} over={over} />
      )}
    </>
  );
}
