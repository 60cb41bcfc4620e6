import { serviceNow } from "../data/service-clock.ts";
import { FieldError } from "../parts/form/fields.tsx";
import { Icon } from "../parts/icon.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Facts, Page, Section } from "../parts/page.tsx";
import { absoluteTime, utcDay } from "../parts/relative-time.tsx";
import { EmptyState } from "../parts/table/filtered-table.tsx";
import { counted } from "../parts/text.ts";
import { useLocation } from "../router.ts";
import { UsageChart } from "./chart.tsx";
import { download, usageCsv } from "./csv.ts";
import { busiestOf, type Usage as UsageOfRange, useUsage } from "./data.ts";
import { hours } from "./hours.ts";
import { UsagePicker } from "./picker.tsx";
import { dayOf, lengthOf, readRange } from "./range.ts";
import { UsageDays, UsageNames } from "./tables.tsx";

/** `/usage`: hours that robots were served, by day and robot or model, on the page and as a file. */
export function Usage() {
  const { query } = useLocation();
  const by = query.get("by") === "model" ? "model" : "robot";
  const read = readRange(query, serviceNow());
  const usage = useUsage(read.state === "read" ? read.range : null, by);
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
            onClick={() => (value === null ? undefined : download(fileName(value), usageCsv(value)))}
          >
            <Icon name="down" />
            Download CSV
          </button>
        </>
      }
    >
      <UsagePicker by={by} />
      {read.state === "refused" ? (
        <FieldError text={read.problem} />
      ) : (
        <Loaded data={usage} what="the usage" lines={12}>
          {(known) => (
            <div class="sections usage" aria-busy={usage.isAsking}>
              <UsageOf usage={known} />
            </div>
          )}
        </Loaded>
      )}
    </Page>
  );
}

function UsageOf({ usage }: { readonly usage: UsageOfRange }) {
  const { by, series, seconds, days, range } = usage;
  if (seconds === 0) {
    return (
      <EmptyState title="Nothing was used in this time">
        <p>
          Time counts while a deployment of a robot is active. <a href="/deployments">Deployments</a> shows which are.
        </p>
      </EmptyState>
    );
  }
  const busiest = busiestOf(days);
  const note = `Since ${absoluteTime(range.sinceMs)}, as of ${absoluteTime(usage.askedAtMs)}; days in UTC`;
  return (
    <>
      <Section title="By day" note={note}>
        <Facts
          facts={[
            ["Total", <b>{hours(seconds)} h</b>],
            ["A day, on average", `${hours(seconds / lengthOf(range))} h`],
            [
              "The most in a day",
              busiest === undefined ? null : `${hours(busiest.seconds)} h on ${utcDay(busiest.day)}`,
            ],
            [by === "robot" ? "Robots served" : "Models used", counted(series.length, by)],
          ]}
        />
        <UsageChart usage={usage} />
        {usage.hasNames ? null : (
          <p class="muted">There are too many {by}s to tell them apart over so many days: choose a shorter time.</p>
        )}
        <UsageDays usage={usage} />
      </Section>
      <Section title={by === "robot" ? "By robot" : "By model"}>
        <UsageNames usage={usage} />
      </Section>
    </>
  );
}

function fileName({ range, by }: UsageOfRange): string {
  return `usage-${dayOf(range.firstMs)}-to-${dayOf(range.lastMs)}-by-${by}.csv`;
}
