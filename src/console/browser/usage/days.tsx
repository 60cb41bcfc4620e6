import { SERIES_SHOWN } from "./chart.tsx";
import type { Usage } from "./data.ts";
import { hours } from "./hours.ts";

/** The numbers of the chart: a row for each day, a column for each colour. */
export function UsageDays({ usage: { days, series, hasNames } }: { readonly usage: Usage }) {
  const shown = hasNames ? series.slice(0, SERIES_SHOWN) : [];
  const hasOthers = hasNames && series.length > shown.length;
  return (
    <details>
      <summary>The days as a table</summary>
      <div class="scroll-x usage-days" tabIndex={0} role="group" aria-label="Hours by day">
        <table class="plain-table">
          <caption class="visually-hidden">Hours by day</caption>
          <thead>
            <tr>
              <th scope="col">Day</th>
              <th scope="col" data-align="end">
                All
              </th>
              {shown.map(({ name }) => (
                <th key={name} scope="col" data-align="end">
                  {name}
                </th>
              ))}
              {hasOthers ? (
                <th scope="col" data-align="end">
                  Others
                </th>
              ) : null}
            </tr>
          </thead>
          <tbody>
            {newestFirst(days).map(({ day, seconds, byName }) => {
              const parts = shown.map(({ name }) => byName.get(name) ?? 0);
              return (
                <tr key={day}>
                  <th scope="row">{day}</th>
                  <Hours seconds={seconds} />
                  {parts.map((part, index) => (
                    <Hours key={shown[index]?.name} seconds={part} />
                  ))}
                  {hasOthers ? <Hours seconds={parts.reduce((rest, part) => rest - part, seconds)} /> : null}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function newestFirst(days: Usage["days"]): Usage["days"] {
  return [...days].sort((left, right) => (left.day < right.day ? 1 : -1));
}

function Hours({ seconds }: { readonly seconds: number }) {
  return <td data-align="end">{seconds === 0 ? <span class="muted">–</span> : hours(seconds)}</td>;
}
