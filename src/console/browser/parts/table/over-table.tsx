import { useMemo } from "preact/hooks";

import { usePlace } from "../../router.ts";
import { number } from "../text.ts";
import { useFiltered } from "./filter-bar.tsx";
import type { FilteredTableProps } from "./filtered-table.tsx";
import { FilteredTable } from "./filtered-table.tsx";

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
  const { rows, columns, noun, filtering, isLoading = false } = props;
  const isOver = usePlace().query.get("show") === over.word;
  const current = useMemo(() => rows.filter((row) => !over.holds(row)), [rows]);
  const past = useMemo(() => rows.filter((row) => over.holds(row)), [rows]);
  const currentColumns = useMemo(() => columns.filter(({ id }) => id !== over.word), [columns]);
  const currentCount = useFiltered(current, filtering).length;
  const pastCount = useFiltered(past, filtering).length;
  return (
    <>
      <nav class="views" aria-label={`Which ${noun}s`}>
        <View word="current" show={null} count={isLoading ? null : currentCount} isShown={!isOver} />
        <View word={over.word} show={over.word} count={isLoading ? null : pastCount} isShown={isOver} />
      </nav>
      {isOver ? (
        <FilteredTable {...props} rows={past} which={over.word} />
      ) : (
        <FilteredTable {...props} rows={current} columns={currentColumns} which="current" />
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
  readonly isShown: boolean;
}

function View({ word, show, count, isShown }: ViewProps) {
  const { path, query: here } = usePlace();
  const query = new URLSearchParams(here);
  if (show === null) query.delete("show");
  else query.set("show", show);
  return (
    <a href={`${path}?${query.toString()}`.replace(/\?$/, "")} aria-current={isShown ? "true" : undefined}>
      {word.charAt(0).toUpperCase() + word.slice(1)} <span class="count">{count === null ? "" : number(count)}</span>
    </a>
  );
}
