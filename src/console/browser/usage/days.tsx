import { None } from "../parts/none.tsx";
import { SmallTable } from "../parts/table/small-table.tsx";
import { compareTexts } from "../parts/text.ts";
import { SERIES_SHOWN } from "./chart.tsx";
import type { Usage } from "./data.ts";
import { hours } from "./hours.ts";

/** The numbers of the chart: a row for each day, a column for each colour. */
export function UsageDays({ usage: { days, series, hasNames } }: { readonly usage: Usage }) {
  const shown = hasNames ? series.slice(0, SERIES_SHOWN) : [];
  const hasOthers = hasNames && series.length > shown.length;
  const newestFirst = [...days].sort((left, right) => compareTexts(right.day, left.day));
  const heads = ["Day", "All", ...shown.map(({ name }) => name), ...(hasOthers ? ["Others"] : [])];
  return (
    <details>
      <summary>The days as a table</summary>
      <SmallTable label="Hours by day" className="usage-days" heads={heads} numbersFrom={1}>
        {newestFirst.map(({ day, seconds, byName }) => {
          const parts = shown.map(({ name }) => byName.get(name) ?? 0);
          const others = hasOthers ? [parts.reduce((rest, part) => rest - part, seconds)] : [];
          return (
            <tr key={day}>
              <th scope="row">{day}</th>
              {[seconds, ...parts, ...others].map((part, index) => (
                <td key={index} data-align="end">
                  {part === 0 ? <None /> : hours(part)}
                </td>
              ))}
            </tr>
          );
        })}
      </SmallTable>
    </details>
  );
}
