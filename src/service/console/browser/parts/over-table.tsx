import { useMemo } from "preact/hooks";

import { usePlace } from "../router.ts";
import { useFiltered } from "./filter-bar.tsx";
import type { FilteredTableProps } from "./filtered-table.tsx";
import { FilteredTable } from "./filtered-table.tsx";
import { number } from "./text.ts";

/** Rows that are over: kept for the record, seldom looked for, and in time most of them. */
export interface Over<Row> {
  /** "retired": on the page, in the address, and the id of the column that only they fill. */
  readonly word: string;
  holds(row: Row): boolean;
}

interface OverTableProps<Row> extends FilteredTableProps<Row> {
  readonly over: Over<Row>;
}

/** A table of what counts now; what is over is one click away, and says how much of it the search and the filters find. */
export function OverTable<Row>({ over, ...props }: OverTableProps<Row>) {
  const { rows, columns, noun, filtering, is_loading = false } = props;
  const is_over = usePlace().query.get("show") === over.word;
  const current = useMemo(() => rows.filter((row) => !over.holds(row)), [rows]);
  const past = useMemo(() => rows.filter((row) => over.holds(row)), [rows]);
  const current_columns = useMemo(() => columns.filter(({ id }) => id !== over.word), [columns]);
  const current_count = useFiltered(current, filtering).length;
  const past_count = useFiltered(past, filtering).length;
  return (
    <>
      <nav class="views" aria-label={`Which ${noun}s`}>
        <View word="current" show={null} count={is_loading ? null : current_count} is_shown={!is_over} />
        <View word={over.word} show={over.word} count={is_loading ? null : past_count} is_shown={is_over} />
      </nav>
      {is_over ? (
        <FilteredTable {...props} rows={past} which={over.word} />
      ) : (
        <FilteredTable {...props} rows={current} columns={current_columns} which="current" />
      )}
    </>
  );
}

interface ViewProps {
  readonly word: string;
  /** In the address. */
  readonly show: string | null;
  /** Null before it is known. */
  readonly count: number | null;
  readonly is_shown: boolean;
}

function View({ word, show, count, is_shown }: ViewProps) {
  const { path, query: here } = usePlace();
  const query = new URLSearchParams(here);
  if (show === null) query.delete("show");
  else query.set("show", show);
  return (
    <a href={`${path}?${query.toString()}`.replace(/\?$/, "")} aria-current={is_shown ? "true" : undefined}>
      {word.charAt(0).toUpperCase() + word.slice(1)} <span class="count">{count === null ? "" : number(count)}</span>
    </a>
  );
}
