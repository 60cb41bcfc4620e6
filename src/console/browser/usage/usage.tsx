import { useState } from "preact/hooks";

import { serviceNow } from "../data/service-clock.ts";
import { useRetry } from "../data/use-retry.ts";
import { FieldError } from "../parts/form/fields.tsx";
import { Icon } from "../parts/icon.tsx";
import { ProblemNotice, StaleNotice } from "../parts/notice.tsx";
import { Facts, Page, Section } from "../parts/page.tsx";
import { absoluteTime } from "../parts/relative-time.tsx";
import { Skeleton } from "../parts/skeleton.tsx";
import { EmptyState } from "../parts/table/empty-state.tsx";
import { counted } from "../parts/text.ts";
import { useLocation } from "../router.ts";
import { UsageChart } from "./chart.tsx";
import { download, usageCsv } from "./csv.ts";
import type { Usage as UsageOfRange, UsageDay } from "./data.ts";
import { useUsage } from "./data.ts";
import { UsageDays } from "./days.tsx";
import { hours } from "./hours.ts";
import { UsageNames } from "./names.tsx";
import { UsagePicker } from "./picker.tsx";
import { dayOf, lengthOf, readRange } from "./range.ts";

/** `/usage`: hours that robots were served, by day and robot or model, on the page and as a file. */
export function Usage() {
  const { query } = useLocation();
  const by = query.get("by") === "model" ? "model" : "robot";
  // Of the moment it was asked for: a page that stays open does not begin anew by itself.
  const [askedMs, setAskedMs] = useState(serviceNow());
  const read = readRange(query, askedMs);
  const usage = useUsage(read.state === "read" ? read.range : null, by, askedMs);
  const value = usage.state === "ready" ? usage.value : null;
  const askAgain = () => setAskedMs(serviceNow());
  useRetry(usage.state === "loading" ? null : usage.problem, askAgain);
  return (
    <Page
      title="Usage"
      actions={
        <>
          <button type="button" class="button" onClick={askAgain}>
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
      ) : usage.state === "failed" ? (
        <ProblemNotice problem={usage.problem} what="the usage" retry={askAgain} />
      ) : usage.state === "loading" ? (
        <UsageSkeleton />
      ) : (
        <>
          {usage.problem === null ? null : <StaleNotice problem={usage.problem} what="the usage" />}
          <div class="sections usage" aria-busy={usage.isAsking}>
            <UsageOf usage={usage.value} />
          </div>
        </>
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
  const busiest = days.reduce<UsageDay | undefined>(
    (most, day) => (day.seconds > (most?.seconds ?? 0) ? day : most),
    undefined,
  );
  const [since, askedAt] = [range.sinceMs, usage.askedAtMs].map((ms) => absoluteTime(new Date(ms).toISOString()));
  const note = `Since ${since}, as of ${askedAt}; days in UTC`;
  return (
    <>
      <Section title="By day" note={note}>
        <Facts
          facts={[
            ["Total", <b>{hours(seconds)} h</b>],
            ["A day, on average", `${hours(seconds / lengthOf(range))} h`],
            ["The most in a day", busiest === undefined ? null : `${hours(busiest.seconds)} h on ${busiest.day}`],
            [by === "robot" ? "Robots served" : "Models used", counted(series.length, by)],
          ]}
        />
        <UsageChart usage={usage} />
        {usage.hasNames ? null : (
          <p class="muted">
            These are too many {by}s for so many days to show them apart; choose a shorter time for that.
          </p>
        )}
        <UsageDays usage={usage} />
      </Section>
      <Section title={by === "robot" ? "By robot" : "By model"}>
        <UsageNames usage={usage} />
      </Section>
    </>
  );
}

function UsageSkeleton() {
  return (
    <div class="sections usage">
      <Section title="By day">
        <Skeleton lines={11} what="the usage" />
      </Section>
    </div>
  );
}

function fileName({ range, by }: UsageOfRange): string {
  return `usage-${dayOf(range.firstMs)}-to-${dayOf(range.lastMs)}-by-${by}.csv`;
}
