import { type RawBuilder, sql } from "kysely";

import {
  USAGE_SUMMARY_DAYS,
  USAGE_SUMS_MAXIMUM,
  type UsageGrouping,
  type UsageSummary,
  type UsageSummaryQuery,
} from "../../api/usage.ts";
import { isoNow, isoTime } from "../../platform/clock.ts";
import { answerValue, refuseInvalid, refuseUnavailable } from "../kernel/http/answers.ts";
import { firstIdAt } from "../kernel/ids.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { USUAL_PERIOD_S } from "../kernel/store/migrations.ts";
import type { Reader } from "../kernel/store/store.ts";
import { createFairQueue } from "../kernel/traffic/fair-queue.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { NAMED_WITHIN_MS, wholeSecond } from "./usage.ts";

const DAY_MS = 86_400_000;
/** Maximum number of waiting summaries: one of a large ledger takes seconds of processor time. */
export const WAITING_SUMMARIES_MAXIMUM = { own: 4, all: 32 } as const;

/** `GET /v1/me/usage/summary`: sums of the ledger and the running periods. Summaries are computed one after the other. */
export function summarizeUsage({ store, machine }: OperationContext): Handler<null, UsageSummaryQuery> {
  const queue = createFairQueue(WAITING_SUMMARIES_MAXIMUM);

  async function summarize(organizationId: string, query: UsageSummaryQuery) {
    const now = wholeSecond(isoNow(machine.clock));
    const stretch = stretchOf(query, now);
    if (stretch.untilMs <= stretch.sinceMs) return refuse("until", "until must be later than since", query.until);
    if (stretch.untilMs - stretch.sinceMs > USAGE_SUMMARY_DAYS.maximum * DAY_MS) {
      return refuse("since", `a summary covers at most ${USAGE_SUMMARY_DAYS.maximum} days`, query.since);
    }
    const items = await sumUsage(store.reader, organizationId, query.by, stretch, now);
    if (items.length > USAGE_SUMS_MAXIMUM) {
      return refuse("by", `there are more than ${USAGE_SUMS_MAXIMUM} sums; request a shorter time`, query.by);
    }
    return answerValue({
      since: isoTime(stretch.sinceMs),
      until: isoTime(stretch.untilMs),
      by: query.by,
      unit: "second",
      total: items.reduce((total, { quantity }) => total + quantity, 0),
      items,
    });
  }

  return async ({ principal: { organizationId }, query }) =>
    (await queue.run(organizationId, () => summarize(organizationId, query))) ??
    refuseUnavailable("Too many summaries of usage are waiting");
}

/** Milliseconds since the epoch, both at whole seconds. */
interface Stretch {
  readonly sinceMs: number;
  readonly untilMs: number;
}

function stretchOf({ since, until }: UsageSummaryQuery, now: string): Stretch {
  const untilMs = Date.parse(wholeSecond(until ?? now));
  const standardMs = untilMs - USAGE_SUMMARY_DAYS.standard * DAY_MS;
  return { sinceMs: since === undefined ? standardMs : Date.parse(wholeSecond(since)), untilMs };
}

function refuse(member: keyof UsageSummaryQuery, rule: string, input: string | undefined) {
  return refuseInvalid([{ ...ruleBroken(rule), loc: ["query", member], input: input ?? null }]);
}

type Sum = UsageSummary["items"][number];

/**
 * Sums the parts of periods that are within a stretch, by day, then by name: at most one sum more than `USAGE_SUMS_MAXIMUM`.
 *
 * Periods are first cut to the stretch, then to the days in it. Nearly all begin and end on one day, because running ones are split at each
 * full hour, so only the others are joined with the days. Times are texts in both databases, and are compared and cut as such.
 */
async function sumUsage(
  reader: Reader,
  organizationId: string,
  by: UsageGrouping,
  { sinceMs, untilMs }: Stretch,
  now: string,
): Promise<readonly Sum[]> {
  const [since, until] = [isoTime(sinceMs), isoTime(untilMs)];
  const [first, last] = [firstIdAt("use", sinceMs - NAMED_WITHIN_MS), firstIdAt("use", untilMs + NAMED_WITHIN_MS)];
  const dimensions = new Set(by.split(","));
  const column = (name: string, expression: RawBuilder<unknown>) =>
    dimensions.has(name) ? expression : sql`cast(null as text)`;
  const isOnOneDay = sql`(substr(begins, 1, 10) = substr(ends, 1, 10)
    or quantity <= ${sql.lit(USUAL_PERIOD_S)} and substr(ends, 12) = '00:00:00.000Z')`;
  const { rows } = await sql<Sum>`
    with used (robot, model, begins, ends, quantity) as (
      select robot_name, model_slug, period_start, period_end, quantity from usage_records
      where organization_id = ${organizationId} and id >= ${first} and id < ${last}
      union all
      select robot_name, model_slug, period_start, period_end, quantity from usage_records
      where organization_id = ${organizationId} and quantity > ${sql.lit(USUAL_PERIOD_S)} and id < ${first}
      union all
      select robots.name, model_slug, usage_from, cast(${now} as text), ${sql.lit(USUAL_PERIOD_S + 1)}
      from deployments join robots on robots.id = deployments.robot_id
      where deployments.organization_id = ${organizationId} and usage_from < ${now}
    ), cut (robot, model, begins, ends, quantity) as (
      select robot, model, case when begins < ${since} then ${since} else begins end,
        case when ends > ${until} then ${until} else ends end, quantity
      from used where begins < ${until} and ends > ${since}
    ), days (begins, ends) as (values ${sql.join(daysOf({ sinceMs, untilMs }))}
    ), pieces (robot, model, begins, ends) as (
      select robot, model, begins, ends from cut where ${isOnOneDay}
      union all
      select robot, model, case when cut.begins < days.begins then days.begins else cut.begins end,
        case when cut.ends > days.ends then days.ends else cut.ends end
      from (select * from cut where not ${isOnOneDay}) as cut
      join days on days.begins < cut.ends and days.ends > cut.begins
    )
    select ${column("day", sql`substr(begins, 1, 10)`)} as day, ${column("robot", sql`robot`)} as robot,
      ${column("model", sql`model`)} as model_slug, sum(${secondOf("ends")} - ${secondOf("begins")}
        + case when substr(begins, 1, 10) = substr(ends, 1, 10) then 0 else 86400 end) as quantity
    from pieces group by 1, 2, 3 limit ${USAGE_SUMS_MAXIMUM + 1}`.execute(reader);
  const nameOf = ({ day, robot, model_slug: model }: Sum) => [day, robot, model].join("\0");
  return rows.toSorted((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
}

/** The days of a stretch as rows of their start and end. */
function daysOf({ sinceMs, untilMs }: Stretch): readonly RawBuilder<unknown>[] {
  const firstMs = Math.floor(sinceMs / DAY_MS) * DAY_MS;
  const count = Math.ceil((untilMs - firstMs) / DAY_MS);
  return Array.from({ length: count }, (_, day) => {
    const beginMs = firstMs + day * DAY_MS;
    return sql`(cast(${isoTime(beginMs)} as text), cast(${isoTime(beginMs + DAY_MS)} as text))`;
  });
}

/** The second of its day. */
function secondOf(column: "begins" | "ends"): RawBuilder<number> {
  const part = (from: number) => sql`cast(substr(${sql.ref(column)}, ${sql.lit(from)}, 2) as integer)`;
  return sql`(${part(12)} * 3600 + ${part(15)} * 60 + ${part(18)})`;
}
