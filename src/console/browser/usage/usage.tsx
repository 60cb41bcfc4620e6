import { useMemo } from "preact/hooks";

import type { UsageGrouping, UsageSummary } from "../../../api/usage.ts";
import { csvLine } from "../../../platform/text/csv.ts";
import { type Outcome, request, serviceNow } from "../data/request.ts";
import { useQuery } from "../data/query.ts";
import { Field, FieldError } from "../parts/form/fields.tsx";
import { Icon } from "../parts/icon.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { None } from "../parts/none.tsx";
import { Facts, Page, Section } from "../parts/page.tsx";
import { absoluteTime, utcDay } from "../parts/relative-time.tsx";
import { type Column, countColumn, textColumn } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { EmptyState, FilteredTable } from "../parts/table/list-page.tsx";
import { SmallTable } from "../parts/table/table.tsx";
import { counted, number } from "../parts/text.ts";
import { robotPath } from "../robots/data.ts";
import { modelPath, setParameter, setQuery, useLocation } from "../router.ts";

/** What the table groups usage by. */
type UsageBy = "robot" | "model";

/** Days in UTC, `2026-11-21`; both are included. */
interface UsageDays {
  readonly first: string;
  readonly last: string;
}

interface UsageName {
  readonly name: string;
  readonly seconds: number;
}

interface UsageOfDays extends UsageDays {
  readonly by: UsageBy;
  readonly seconds: number;
  /** Also those without usage. */
  readonly days: readonly { readonly day: string; readonly seconds: number }[];
  /** Robots or models, those with most usage first. */
  readonly names: readonly UsageName[];
  readonly untilMs: number;
}

const GROUPINGS = [
  { value: "robot", word: "Robot" },
  { value: "model", word: "Model" },
] as const;

const LAST_MONTH = "last-month";
const CHOSEN_DAYS = "days";
const STANDARD_TIME = "30";
/** By their value in the URL; a number is one of days, today the last. */
const TIMES = [
  { value: LAST_MONTH, word: "Last month" },
  { value: "7", word: "Last 7 days" },
  { value: STANDARD_TIME, word: "Last 30 days" },
  { value: "90", word: "Last 90 days" },
  { value: "365", word: "Last 365 days" },
  { value: CHOSEN_DAYS, word: "From a day to a day…" },
] as const;

const COLUMNS: readonly Column<UsageName>[] = [
  textColumn({ id: "name", name: "Name", track: "minmax(10rem, 2fr)" }, ({ name }) => name),
  countColumn({ id: "hours", name: "Hours", track: "8rem", cell: (row) => hours(row.seconds) }, (row) => row.seconds),
];

const FILTERING: Filtering<UsageName> = { filters: [], textOf: ({ name }) => name };

const DAY_MS = 86_400_000;

/** `/usage`: hours that robots were served: in all, by day, and by robot or model. */
export function Usage() {
  const { query } = useLocation();
  const by = query.get("by") === "model" ? "model" : "robot";
  const range = daysAsked(query, serviceNow());
  // Not asked again on events: the service reads its whole ledger for it.
  const usage = useQuery(
    range === null
      ? null
      : {
          key: ["usage", range.first, range.last, by].join(" "),
          ask: (signal) => askUsage(range, by, signal),
          topics: [],
        },
  );
  const value = usage.value ?? null;
  return (
    <Page
      title="Usage"
      actions={
        <>
          <button type="button" class="button" onClick={usage.retry}>
            Ask again
          </button>
          <button
            type="button"
            class="button"
            disabled={value === null || value.seconds === 0}
            onClick={() => (value === null ? undefined : download(value))}
          >
            <Icon name="down" />
            Download CSV
          </button>
        </>
      }
    >
      <Choices by={by} />
      {range === null ? (
        <FieldError text="Choose a first day, and a last day that is not before it." />
      ) : (
        <Loaded data={usage} what="the usage" lines={12}>
          {(known) => (
            <div class="sections usage" aria-busy={usage.state === "ready" && usage.isPrevious}>
              <UsageView usage={known} />
            </div>
          )}
        </Loaded>
      )}
    </Page>
  );
}

/** The time and the grouping; both are in the URL. */
function Choices({ by }: { readonly by: UsageBy }) {
  const { query } = useLocation();
  const hasDays = query.has("from") || query.has("to");
  return (
    <div class="filters" role="group" aria-label="What to show">
      <Field
        kind="select"
        label="Time"
        value={hasDays ? CHOSEN_DAYS : timeAsked(query)}
        options={TIMES}
        change={chooseTime}
      />
      {hasDays ? (
        <>
          <DayField label="First day" parameter="from" />
          <DayField label="Last day" parameter="to" />
        </>
      ) : null}
      <Field
        kind="select"
        label="Group by"
        value={by}
        options={GROUPINGS}
        change={(value) => setParameter("by", value)}
      />
    </div>
  );
}

function DayField({ label, parameter }: { readonly label: string; readonly parameter: "from" | "to" }) {
  const value = useLocation().query.get(parameter);
  return (
    <Field
      label={label}
      kind="date"
      // Browsers log a warning for an invalid date.
      value={isDay(value) ? value : ""}
      // An empty one stays in the query: the fields are for days.
      change={(day) => setQuery((query) => query.set(parameter, day))}
    />
  );
}

function chooseTime(time: string): void {
  setQuery((query) => {
    // The fields start with the days that are shown.
    const shown = time === CHOSEN_DAYS ? daysAsked(query, serviceNow()) : null;
    for (const parameter of ["time", "from", "to"]) query.delete(parameter);
    if (shown !== null) {
      query.set("from", shown.first);
      query.set("to", shown.last);
    } else if (time !== STANDARD_TIME) query.set("time", time);
  });
}

/** Null if the days in the URL are none. */
function daysAsked(query: URLSearchParams, nowMs: number): UsageDays | null {
  const [first, last] = [query.get("from"), query.get("to")];
  if (first !== null || last !== null) return isDay(first) && isDay(last) && first <= last ? { first, last } : null;
  const time = timeAsked(query);
  if (time !== LAST_MONTH) return { first: dayOf(nowMs - (Number(time) - 1) * DAY_MS), last: dayOf(nowMs) };
  const now = new Date(nowMs);
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  return { first: dayOf(Date.UTC(year, month - 1, 1)), last: dayOf(Date.UTC(year, month, 0)) };
}

function timeAsked(query: URLSearchParams): string {
  const asked = query.get("time");
  return TIMES.find(({ value }) => value === asked && value !== CHOSEN_DAYS)?.value ?? STANDARD_TIME;
}

function isDay(text: string | null): text is string {
  return text !== null && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, "YYYY-MM-DD".length);
}

/** Sums by day and sums by name: by both at once, a thousand robots have more sums than the service answers with. */
async function askUsage(range: UsageDays, by: UsageBy, signal: AbortSignal): Promise<Outcome<UsageOfDays>> {
  const [firstMs, lastMs] = [Date.parse(range.first), Date.parse(range.last)];
  // Not later than now, so that both answers are as of one time.
  const untilMs = Math.min(lastMs + DAY_MS, serviceNow());
  const ask = (grouping: UsageGrouping) => {
    const [since, until] = [new Date(firstMs).toISOString(), new Date(untilMs).toISOString()];
    const query = new URLSearchParams({ since, until, by: grouping });
    return request<UsageSummary>("GET", `/v1/me/usage/summary?${query.toString()}`, { signal });
  };
  const [byDay, byName] = await Promise.all([ask("day"), ask(by)]);
  if (byDay.state !== "answered") return byDay;
  if (byName.state !== "answered") return byName;
  const ofDays = new Map(byDay.value.items.map(({ day, quantity }) => [day, quantity]));
  const days = Array.from({ length: (lastMs - firstMs) / DAY_MS + 1 }, (_, index) => {
    const day = dayOf(firstMs + index * DAY_MS);
    return { day, seconds: ofDays.get(day) ?? 0 };
  });
  const names = byName.value.items.map(({ robot, model_slug: modelSlug, quantity }) => ({
    name: (by === "robot" ? robot : modelSlug) ?? "unknown",
    seconds: quantity,
  }));
  names.sort((left, right) => right.seconds - left.seconds);
  return { state: "answered", value: { ...range, by, seconds: byDay.value.total, days, names, untilMs } };
}

function UsageView({ usage }: { readonly usage: UsageOfDays }) {
  const { by, names, seconds, days } = usage;
  const columns = useMemo(() => [...COLUMNS, shareColumn(seconds)], [seconds]);
  if (seconds === 0) {
    return (
      <EmptyState title="Nothing was used in this time">
        <p>
          Time counts while a deployment of a robot is active. <a href="/deployments">Deployments</a> shows which are.
        </p>
      </EmptyState>
    );
  }
  return (
    <>
      <Section title="By day" note={`Days in UTC, until ${absoluteTime(usage.untilMs)}`}>
        <Facts
          facts={[
            ["Total", <b>{hours(seconds)} h</b>],
            [by === "robot" ? "Robots served" : "Models used", counted(names.length, by)],
          ]}
        />
        <UsageChart usage={usage} />
        <details>
          <summary>The days as a table</summary>
          <SmallTable label="Hours by day" className="usage-days" heads={["Day", "Hours"]}>
            {days.map((each) => (
              <tr key={each.day}>
                <th scope="row">{utcDay(each.day)}</th>
                <td>{each.seconds === 0 ? <None /> : hours(each.seconds)}</td>
              </tr>
            ))}
          </SmallTable>
        </details>
      </Section>
      <Section title={by === "robot" ? "By robot" : "By model"}>
        <FilteredTable
          caption={`Usage by ${by}`}
          noun={by}
          columns={columns}
          rows={names}
          keyOf={({ name }) => name}
          hrefOf={({ name }) => (by === "robot" ? robotPath(name, name) : modelPath(name))}
          sort="-hours"
          filtering={FILTERING}
          hint="Name"
        />
      </Section>
    </>
  );
}

function shareColumn(all: number): Column<UsageName> {
  const cell = ({ seconds }: UsageName) => `${number(Math.round((seconds / all) * 1000) / 10)} %`;
  return countColumn({ id: "share", name: "Share", track: "6rem", cell }, ({ seconds }) => seconds);
}

const CHART_HEIGHT = 220;
/** For the days below the bars. */
const CHART_FOOT = 22;
/** As a fraction of the distance between bars. */
const BAR_WIDTH = 0.82;

/** A bar for each day. Its label is one sentence; the table below has all numbers. */
function UsageChart({ usage: { first, last, days, seconds } }: { readonly usage: UsageOfDays }) {
  const busiest = days.reduce((most, each) => (each.seconds > most.seconds ? each : most));
  const most = `the most on ${utcDay(busiest.day)}, ${hours(busiest.seconds)} hours`;
  const sentence = `Hours by day: ${hours(seconds)} hours in ${counted(days.length, "day")}; ${most}.`;
  const foot = CHART_HEIGHT - CHART_FOOT;
  return (
    <figure class="usage-chart" role="img" aria-label={sentence}>
      <svg class="usage-axis" height={CHART_HEIGHT} aria-hidden="true">
        <text class="chart-text" x="100%" dx="-6" y="12" text-anchor="end">
          {hours(busiest.seconds)} h
        </text>
      </svg>
      <svg class="usage-plot" width="100%" height={CHART_HEIGHT} aria-hidden="true">
        {days.map((each, index) => {
          const [x, height] = [`${(index / days.length) * 100}%`, (each.seconds / busiest.seconds) * foot];
          const width = `${(BAR_WIDTH / days.length) * 100}%`;
          return (
            <g key={each.day} class="usage-bar">
              <rect fill="var(--series-0)" x={x} y={foot - height} width={width} height={height} />
              {/* The whole column shows the tooltip, not just the bar. */}
              <rect class="usage-hover" x={x} y="0" width={`${100 / days.length}%`} height={foot}>
                <title>{`${utcDay(each.day)}: ${hours(each.seconds)} h`}</title>
              </rect>
            </g>
          );
        })}
        <line class="chart-line" x1="0" x2="100%" y1={foot} y2={foot} />
        <text class="chart-text" x="0" y={CHART_HEIGHT - 5}>
          {utcDay(first)}
        </text>
        <text class="chart-text" x="100%" y={CHART_HEIGHT - 5} text-anchor="end">
          {first === last ? "" : utcDay(last)}
        </text>
      </svg>
    </figure>
  );
}

const FINE = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

/** Seconds as hours, without the unit: `<0.01`, `0.25`, `1,234.5`. */
function hours(seconds: number): string {
  const value = seconds / 3600;
  return value > 0 && value < 0.01 ? "<0.01" : FINE.format(value);
}

/** Lifetime of the object URL, far longer than a download needs. */
const DOWNLOAD_MS = 60_000;

/** Saves the usage as CSV (RFC 4180), a line for each robot or model. */
function download({ first, last, by, names }: UsageOfDays): void {
  const rows = names.map(({ name, seconds }) => [name, seconds, (seconds / 3600).toFixed(4)]);
  const lines = [[by, "seconds", "hours"], ...rows].map((cells) => `${csvLine(cells)}\r\n`);
  // Spreadsheets recognize UTF-8 by the byte order mark.
  const url = URL.createObjectURL(new Blob(["\uFEFF", ...lines], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `usage-${first}-to-${last}-by-${by}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), DOWNLOAD_MS);
}
