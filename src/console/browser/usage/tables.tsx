import { useMemo } from "preact/hooks";

import { modelPath } from "../models/data.ts";
import { type Column, countColumn } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { FilteredTable } from "../parts/table/filtered-table.tsx";
import { None } from "../parts/none.tsx";
import { utcDay } from "../parts/relative-time.tsx";
import { SmallTable } from "../parts/table/small-table.tsx";
import { compareTexts, number } from "../parts/text.ts";
import { robotPath } from "../robots/data.ts";
import { SERIES_SHOWN, toneOf } from "./chart.tsx";
import type { Usage, UsageSeries } from "./data.ts";
import { hours } from "./hours.ts";

interface NameRow extends UsageSeries {
  /** Its colour in the chart; null if the chart has no colours by name. */
  readonly tone: number | null;
  /** Share of the total, from 0 to 1. */
  readonly share: number;
  /** Relative to the largest, from 0 to 1. */
  readonly compared: number;
}

const FILTERING: Filtering<NameRow> = { filters: [], textOf: ({ name }) => name };

/** Usage of each robot or model, with its colour in the chart. */
export function UsageNames({ usage }: { readonly usage: Usage }) {
  const { by, series, seconds, hasNames } = usage;
  const rows = useMemo(
    () =>
      series.map((each, index) => {
        const compared = each.seconds / (series[0]?.seconds ?? 1);
        return Object.assign({ tone: hasNames ? toneOf(index) : null, share: each.seconds / seconds, compared }, each);
      }),
    [series],
  );
  const columns = useMemo(() => columnsOf(by, hasNames), [by, hasNames]);
  return (
    <FilteredTable
      caption={`Usage by ${by}`}
      noun={by}
      columns={columns}
      rows={rows}
      keyOf={({ name }) => name}
      hrefOf={({ name }) => (by === "robot" ? robotPath(name, name) : modelPath(name))}
      sort="-hours"
      cardHeight="5.5rem"
      filtering={FILTERING}
      hint="Name"
    />
  );
}

function columnsOf(by: Usage["by"], hasNames: boolean): readonly Column<NameRow>[] {
  return [
    {
      id: "name",
      name: by === "robot" ? "Robot" : "Model",
      track: "minmax(10rem, 2fr)",
      cell: ({ name, tone }) => (
        <>
          {tone === null ? null : (
            <svg class="usage-swatch" viewBox="0 0 10 10" aria-hidden="true">
              <rect fill={`var(--series-${tone})`} width="10" height="10" />
            </svg>
          )}
          {name}
        </>
      ),
      sortBy: ({ name }) => name,
    },
    countColumn({ id: "hours", name: "Hours", track: "7rem", cell: (row) => hours(row.seconds) }, (row) => row.seconds),
    countColumn(
      {
        id: "share",
        name: "Share",
        track: "5rem",
        cell: ({ share }) => `${number(Math.round(share * 1000) / 10)} %`,
      },
      ({ share }) => share,
    ),
    ...(hasNames
      ? [countColumn<NameRow>({ id: "days", name: "Days", track: "4.5rem", from: "narrow" }, ({ days }) => days)]
      : []),
    {
      id: "bar",
      name: "Compared",
      track: "minmax(8rem, 3fr)",
      from: "narrow",
      cell: ({ compared }) => (
        <svg class="usage-share" width="100%" height="8" aria-hidden="true">
          <rect width={`${compared * 100}%`} height="8" />
        </svg>
      ),
    },
  ];
}

/** The numbers of the chart: a row for each day, a column for each colour. */
export function UsageDays({ usage: { days, series, hasNames } }: { readonly usage: Usage }) {
  const shown = hasNames ? series.slice(0, SERIES_SHOWN) : [];
  const hasOthers = hasNames && series.length > shown.length;
  const newestFirst = [...days].sort((left, right) => compareTexts(right.day, left.day));
  const heads = ["Day", "All", ...shown.map(({ name }) => name), ...(hasOthers ? ["Others"] : [])];
  return (
    <details>
      <summary>The days as a table</summary>
      <SmallTable label="Hours by day" className="usage-days" heads={heads}>
        {newestFirst.map(({ day, seconds, byName }) => {
          const parts = shown.map(({ name }) => byName.get(name) ?? 0);
          const others = hasOthers ? [parts.reduce((rest, part) => rest - part, seconds)] : [];
          return (
            <tr key={day}>
              <th scope="row">{utcDay(day)}</th>
              {[seconds, ...parts, ...others].map((part, index) => (
                <td key={index}>{part === 0 ? <None /> : hours(part)}</td>
              ))}
            </tr>
          );
        })}
      </SmallTable>
    </details>
  );
}
