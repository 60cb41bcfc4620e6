import { useMemo } from "preact/hooks";

import { useLocation } from "../../router.ts";
import { capitalized, number } from "../text.ts";
import { useFiltered } from "./filter-bar.tsx";
import type { FilteredTableProps } from "./filtered-table.tsx";
import { FilteredTable } from "./filtered-table.tsx";

/** Historical rows: rarely needed, but in time the majority. */
export interface Archive<Row> {
  /** "retired": its name on the page and in the URL, and the id of the column that only these rows fill. */
  readonly word: string;
  contains(row: Row): boolean;
}

interface ArchiveTableProps<Row> extends FilteredTableProps<Row> {
  readonly archive: Archive<Row>;
}

/** A table of the current rows, with a link to the historical ones. Both show how many rows match the search and filters. */
export function ArchiveTable<Row>({ archive, ...props }: ArchiveTableProps<Row>) {
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
        <View word={archive.word} show={archive.word} count={isLoading ? null : pastCount} isShown={isArchive} />
      </nav>
      {isArchive ? (
        <FilteredTable {...props} rows={past} which={archive.word} />
      ) : (
        <FilteredTable {...props} rows={current} columns={currentColumns} which="current" />
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
