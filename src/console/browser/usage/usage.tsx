import { counted } from "../../../views/view.ts";
import { useMemo } from "preact/hooks";

import type { UsageGrouping, UsageSummary } from "../../../api/usage.ts";
import {
  boundsOf,
  dayAfter,
  type Days,
  daysOfMonth,
  inOrder,
  isDay,
  lastDays,
  lastMonth,
  quantityText,
  usageColumns,
  usageFileColumns,
  type UsageSum,
  USUAL_DAYS,
} from "../../../views/usage.ts";
import { type Outcome, request, serviceNow } from "../data/request.ts";
import { useQuery } from "../data/query.ts";
import { CsvButton } from "../parts/csv-button.tsx";
import { Field, FieldError } from "../parts/form/fields.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Facts, None, Page, Section } from "../parts/page.tsx";
import { absoluteTime, utcDay } from "../parts/relative-time.tsx";
import { columnsOf } from "../parts/shown.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { EmptyState, FilteredTable } from "../parts/table/list-page.tsx";
import { SmallTable } from "../parts/table/table.tsx";
import { robotPath } from "../robots/data.ts";
import { modelPath, setParameter, setQuery, useLocation } from "../router.ts";

/** What the table groups usage by. */
type UsageBy = "robot" | "model";

interface UsageOfDays extends Days {
  readonly by: UsageBy;
  readonly seconds: number;
  /** Also those without usage. */
  readonly days: readonly { readonly day: string; readonly seconds: number }[];
  /** Of robots or models, those with most usage first. */
  readonly sums: readonly UsageSum[];
  readonly untilMs: number;
}

const GROUPINGS = [
  { value: "robot", word: "Robot" },
  { value: "model", word: "Model" },
] as const;

const LAST_MONTH = "last-month";
const CHOSEN_DAYS = "days";
const STANDARD_TIME = String(USUAL_DAYS);
/** By their value in the URL; a number is one of days, today the last. */
const TIMES = [
  { value: LAST_MONTH, word: "Last month" },
  { value: "7", word: "Last 7 days" },
  { value: STANDARD_TIME, word: `Last ${USUAL_DAYS} days` },
  { value: "90", word: "Last 90 days" },
  { value: "365", word: "Last 365 days" },
  { value: CHOSEN_DAYS, word: "From a day to a day…" },
] as const;

const FILTERING: Filtering<UsageSum> = { filters: [], textOf: ({ name }) => name };

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
          {value === null ? null : (
            <CsvButton
              name={`usage-${value.first}-to-${value.last}-by-${value.by}`}
              columns={usageFileColumns(value.by)}
              rows={value.sums}
            />
          )}
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

const DAY_FIELDS = [
  ["from", "First day"],
  ["to", "Last day"],
] as const;

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
      {(hasDays ? DAY_FIELDS : []).map(([parameter, label]) => (
        <Field
          key={parameter}
          label={label}
          kind="date"
          // Browsers log a warning for an invalid date.
          value={isDay(query.get(parameter)) ? (query.get(parameter) ?? "") : ""}
          // An empty one stays in the query: the fields are for days.
          change={(day) => setQuery((changed) => changed.set(parameter, day))}
        />
      ))}
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
function daysAsked(query: URLSearchParams, nowMs: number): Days | null {
  const [first, last] = [query.get("from"), query.get("to")];
  if (first !== null || last !== null) return isDay(first) && isDay(last) && first <= last ? { first, last } : null;
  const time = timeAsked(query);
  return time === LAST_MONTH ? daysOfMonth(lastMonth(nowMs)) : lastDays(Number(time), nowMs);
}

function timeAsked(query: URLSearchParams): string {
  const asked = query.get("time");
  return TIMES.find(({ value }) => value === asked && value !== CHOSEN_DAYS)?.value ?? STANDARD_TIME;
}

/** Sums by day and sums by name: by both at once, a thousand robots have more sums than the service answers with. */
async function askUsage(range: Days, by: UsageBy, signal: AbortSignal): Promise<Outcome<UsageOfDays>> {
  const nowMs = serviceNow();
  // Not later than now, so that both answers are as of one time.
  const { since, until: end } = boundsOf(range, nowMs);
  const until = end ?? new Date(nowMs).toISOString();
  const ask = (grouping: UsageGrouping) => {
    const query = new URLSearchParams({ since, until, by: grouping });
    return request<UsageSummary>("GET", `/v1/me/usage/summary?${query.toString()}`, { signal });
  };
  const [byDay, byName] = await Promise.all([ask("day"), ask(by)]);
  if (byDay.state !== "answered") return byDay;
  if (byName.state !== "answered") return byName;
  const { total, unit, items } = byDay.value;
  const ofDays = new Map(items.map(({ day, quantity }) => [day, quantity]));
  const days: { readonly day: string; readonly seconds: number }[] = [];
  for (let day = range.first; day <= range.last; day = dayAfter(day, 1)) {
    days.push({ day, seconds: ofDays.get(day) ?? 0 });
  }
  const sums = byName.value.items.map(({ robot, model_slug: modelSlug, quantity }) => {
    const name = (by === "robot" ? robot : modelSlug) ?? "unknown";
    return { name, quantity, unit, amount_cents: null };
  });
  const untilMs = Date.parse(until);
  return { state: "answered", value: { ...range, by, seconds: total, days, sums: inOrder(sums, by), untilMs } };
}

function UsageView({ usage }: { readonly usage: UsageOfDays }) {
  const { by, sums, seconds, days } = usage;
  const columns = useMemo(() => columnsOf(usageColumns(by, seconds)), [by, seconds]);
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
            ["Total", <b>{quantityText(seconds)}</b>],
            [by === "robot" ? "Robots served" : "Models used", counted(sums.length, by)],
          ]}
        />
        <UsageChart usage={usage} />
        <details>
          <summary>The days as a table</summary>
          <SmallTable label="Usage by day" className="usage-days" heads={["Day", "Used"]}>
            {days.map((each) => (
              <tr key={each.day}>
                <th scope="row">{utcDay(each.day)}</th>
                <td>{each.seconds === 0 ? <None /> : quantityText(each.seconds)}</td>
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
          rows={sums}
          keyOf={({ name }) => name}
          hrefOf={({ name }) => (by === "robot" ? robotPath(name, name) : modelPath(name))}
          sort="-used"
          filtering={FILTERING}
          hint="Name"
        />
      </Section>
    </>
  );
}

const CHART_HEIGHT = 220;
/** For the days below the bars. */
const CHART_FOOT = 22;
/** As a fraction of the distance between bars. */
const BAR_WIDTH = 0.82;

/** A bar for each day. Its label is one sentence; the table below has all numbers. */
function UsageChart({ usage: { first, last, days, seconds } }: { readonly usage: UsageOfDays }) {
  const busiest = days.reduce((most, each) => (each.seconds > most.seconds ? each : most));
  const most = `the most on ${utcDay(busiest.day)}, ${quantityText(busiest.seconds)}`;
  const sentence = `Usage by day: ${quantityText(seconds)} in ${counted(days.length, "day")}; ${most}.`;
  const foot = CHART_HEIGHT - CHART_FOOT;
  return (
    <figure class="usage-chart" role="img" aria-label={sentence}>
      <svg class="usage-axis" height={CHART_HEIGHT} aria-hidden="true">
        <text class="chart-text" x="100%" dx="-6" y="12" text-anchor="end">
          {quantityText(busiest.seconds)}
        </text>
      </svg>
      <svg class="usage-plot" width="100%" height={CHART_HEIGHT} aria-hidden="true">
        {days.map((each, index) => {
          const [x, height] = [`${(index / days.length) * 100}%`, (each.seconds / busiest.seconds) * foot];
          const width = `${(BAR_WIDTH / days.length) * 100}%`;
          return (
            <g key={each.day} class="usage-bar">
              <rect fill="var(--accent)" x={x} y={foot - height} width={width} height={height} />
              {/* The whole column shows the tooltip, not just the bar. */}
              <rect class="usage-hover" x={x} y="0" width={`${100 / days.length}%`} height={foot}>
                <title>{`${utcDay(each.day)}: ${quantityText(each.seconds)}`}</title>
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
