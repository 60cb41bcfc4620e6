/** Renders what src/views says for the browser. */
import { relativeTime } from "../../../platform/text/relative-time.ts";
import type { Column as ViewColumn, Filter as ViewFilter, Shown as Value } from "../../../views/view.ts";
import { DigestChip } from "./copy-button.tsx";
import { Labels } from "./labels.tsx";
import { None } from "./none.tsx";
import { RelativeTime } from "./relative-time.tsx";
import { StatusBadge } from "./status-badge.tsx";
import type { Column } from "./table/columns.tsx";
import type { Filter } from "./table/filter-bar.tsx";
import { capitalized, number, withSpaces } from "./text.ts";

export function Shown({ value, isInList = false }: { readonly value: Value; readonly isInList?: boolean }) {
  if (value === null || value === "") return <None />;
  if (typeof value === "string") return <>{value}</>;
  if (typeof value === "number") return <>{number(value)}</>;
  switch (value.kind) {
    case "past":
      return <RelativeTime at={value.at} />;
    case "future":
      return <RelativeTime at={value.at} inWords={relativeTime} />;
    case "digest":
      return <DigestChip digest={value.digest} isInList={isInList} />;
    case "labels":
      return <Labels labels={value.labels} isWhole={!isInList} />;
    case "state":
      return (
        <>
          <StatusBadge status={value.state} />
          {value.since === undefined || value.since === null ? null : (
            <span class="second-line">
              <RelativeTime at={value.since} />
            </span>
          )}
          {value.reason === undefined || value.reason === null ? null : (
            <span class="second-line" title={value.reason}>
              {value.reason}
            </span>
          )}
        </>
      );
  }
}

/** Columns of a table; those of terminals and those that must be asked for are left out. */
export function columnsOf<Row>(columns: readonly ViewColumn<Row>[]): readonly Column<Row>[] {
  return columns.flatMap(({ name, show, sortKey, from, weight = 1 }) =>
    from === "terminal" || from === "asked"
      ? []
      : [
          {
            id: name,
            name: capitalized(name),
            track: `minmax(${weight > 1 ? 8 : 6}rem, ${weight}fr)`,
            ...(from === undefined ? {} : { from }),
            cell: (row: Row) => <Shown value={show(row)} isInList />,
            sortBy: sortKey ?? ((row: Row) => sortKeyOf(show(row))),
          },
        ],
  );
}

function sortKeyOf(value: Value): string | number | null {
  if (value === null || typeof value !== "object") return value === "" ? null : value;
  switch (value.kind) {
    case "past":
    case "future":
      return Date.parse(value.at);
    case "digest":
      return value.digest;
    case "state":
      return value.state;
    case "labels":
      return JSON.stringify(value.labels);
  }
}

export function filtersOf<Row>(filters: readonly ViewFilter<Row>[]): readonly Filter<Row>[] {
  return filters.map(({ name, valuesOf }) => ({ id: name, label: capitalized(name), valuesOf, wordOf: withSpaces }));
}
