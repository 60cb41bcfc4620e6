import { counted } from "../../../views/view.ts";
import { useMemo } from "preact/hooks";

import type { UsageGrouping, UsageSummary } from "../../../api/usage.ts";
import {
  boundsOf,
  dayAfter,
  type Days,
  daysOfMonth,
  inOrder,
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
import { Field, type Option } from "../parts/form/fields.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Facts, None, Page, Section } from "../parts/page.tsx";
import { absoluteTime, utcDay } from "../parts/relative-time.tsx";
import { columnsOf } from "../parts/shown.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { EmptyState, FilteredTable } from "../parts/table/list-page.tsx";
import { SmallTable } from "../parts/table/table.tsx";
import { robotPath } from "../robots/data.ts";
import { modelPath, setParameter, useLocation } from "../router.ts";

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
const STANDARD_TIME = String(USUAL_DAYS);
const PRESETS = [
  { value: LAST_MONTH, word: "Last month" },
  ...["7", STANDARD_TIME, "90", "365"].map((days) => ({ value: days, word: `Last ${days} days` })),
];
/** Months offered by their names. */
const MONTHS = 12;
const MONTH_FORMAT = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });

const FILTERING: Filtering<UsageSum> = { filters: [], textOf: ({ name }) => name };

/** `/usage`: hours that robots were served: in all, by day, and by robot or model. */
export function Usage() {
  const { query } = useLocation();
  const by = query.get("by") === "model" ? "model" : "robot";
  const time = query.get("time") ?? STANDARD_TIME;
  const range = daysOf(time, serviceNow());
  // Not asked again on events: the service reads its whole ledger for it.
  const usage = useQuery({
    key: ["usage", range.first, range.last, by].join(" "),
    ask: (signal) => askUsage(range, by, signal),
    topics: [],
  });
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
      {/* Both are in the URL. */}
      <div class="filters" role="group" aria-label="What to show">
        <Field
          kind="select"
          label="Time"
          value={time}
          options={timesAt(serviceNow())}
          change={(chosen) => setParameter("time", chosen === STANDARD_TIME ? "" : chosen)}
        />
        <Field
          kind="select"
          label="Group by"
          value={by}
          options={GROUPINGS}
          change={(value) => setParameter("by", value)}
        />
      </div>
      <Loaded data={usage} what="the usage" lines={12}>
        {(known) => (
          <div class="sections usage" aria-busy={usage.state === "ready" && usage.isPrevious}>
            <UsageView usage={known} />
          </div>
        )}
      </Loaded>
    </Page>
  );
}

/** The presets, and the months before this one, the latest first. */
function timesAt(nowMs: number): readonly Option[] {
  let month = lastMonth(nowMs);
  const months = [];
  for (let count = 0; count < MONTHS; count += 1) {
    const firstMs = Date.parse(`${month}-01`);
    months.push({ value: month, word: MONTH_FORMAT.format(firstMs) });
    month = lastMonth(firstMs);
  }
  return [...PRESETS, ...months];
}

/** The days of a preset, or of a month such as `2026-10`; the usual ones where the URL names neither. */
function daysOf(time: string, nowMs: number): Days {
  const days = PRESETS.some(({ value }) => value === time) ? Number(time) : USUAL_DAYS;
  return daysOfMonth(time === LAST_MONTH ? lastMonth(nowMs) : time) ?? lastDays(days, nowMs);
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
          <SmallTable label="Usage by day" className="usage-table" heads={["Day", "Used"]}>
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
        />
      </Section>
    </>
  );
}

/** A bar for each day. Its label is one sentence; the table below has all numbers. */
function UsageChart({ usage: { first, last, days, seconds } }: { readonly usage: UsageOfDays }) {
  const busiest = days.reduce((most, each) => (each.seconds > most.seconds ? each : most));
  const most = `the most on ${utcDay(busiest.day)}, ${quantityText(busiest.seconds)}`;
  return (
    <figure
      class="usage-chart"
      role="img"
      aria-label={`Usage by day: ${quantityText(seconds)} in ${counted(days.length, "day")}; ${most}.`}
    >
      <div>{quantityText(busiest.seconds)}</div>
      <div class="usage-bars">
        {days.map((each) => (
          <div key={each.day} class="usage-bar" title={`${utcDay(each.day)}: ${quantityText(each.seconds)}`}>
            <div style={{ height: `${(each.seconds / busiest.seconds) * 100}%` }} />
          </div>
        ))}
      </div>
      <div class="usage-days">
        <span>{utcDay(first)}</span>
        <span>{first === last ? "" : utcDay(last)}</span>
      </div>
    </figure>
  );
}
