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
import type { Reader } from "../kernel/store/store.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import { createFairQueue } from "../kernel/traffic/fair-queue.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { wholeSecond } from "./period.ts";
import { listLongPeriods, listUsage, NAMED_WITHIN_MS, type SummedPeriod } from "./queries.ts";

const DAY_MS = 86_400_000;
/** Periods per query. Queries of a local database block this process, so other requests wait for each. */
const PART_ROWS = 500;
/** Maximum number of waiting summaries: one of a large ledger takes seconds of processor time. */
export const WAITING_SUMMARIES_MAXIMUM = { own: 4, all: 32 } as const;

/** `GET /v1/me/usage/summary`: sums of the ledger and the running periods. Summaries are computed one after the other. */
export function summarizeUsage({ store, machine }: OperationContext): Handler<null, UsageSummaryQuery> {
  const queue = createFairQueue(WAITING_SUMMARIES_MAXIMUM);

  async function summarize(organizationId: string, query: UsageSummaryQuery) {
    const now = isoNow(machine.clock);
    const stretch = stretchOf(query, now);
    if (stretch.untilMs <= stretch.sinceMs) return refuse("until", "until must be later than since", query.until);
    if (stretch.untilMs - stretch.sinceMs > USAGE_SUMMARY_DAYS.maximum * DAY_MS) {
      return refuse("since", `a summary covers at most ${USAGE_SUMMARY_DAYS.maximum} days`, query.since);
    }
    const sums = createSums(query.by, stretch);
    for await (const periods of periodsWithin(store.reader, organizationId, stretch, now)) {
      for (const period of periods) sums.add(period);
      if (sums.count > USAGE_SUMS_MAXIMUM) {
        return refuse("by", `there are more than ${USAGE_SUMS_MAXIMUM} sums; request a shorter time`, query.by);
      }
    }
    const items = sums.items();
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

/** All periods that overlap with the time range, and some that do not. In parts, so that other requests are answered in between. */
async function* periodsWithin(
  reader: Reader,
  organizationId: string,
  { sinceMs, untilMs }: Stretch,
  now: string,
): AsyncGenerator<readonly SummedPeriod[]> {
  const rows = PART_ROWS;
  const first = firstIdAt("use", sinceMs - NAMED_WITHIN_MS);
  const last = firstIdAt("use", untilMs + NAMED_WITHIN_MS);
  const since = isoTime(sinceMs);
  yield* inParts("", first, (after) => listLongPeriods(reader, organizationId, { after, until: first, rows }, since));
  yield* inParts(first, last, (after) => listUsage(reader, organizationId, { after, rows }, now));
}

/** Reads after the id `after`, up to `last`. */
async function* inParts(
  after: string,
  last: string,
  read: (after: string) => Promise<readonly SummedPeriod[]>,
): AsyncGenerator<readonly SummedPeriod[]> {
  for (let behind = after; behind < last;) {
    const periods = await read(behind);
    yield periods;
    await yieldEventLoop();
    behind = periods.length < PART_ROWS ? last : (periods.at(-1)?.id ?? last);
  }
}

function stretchOf({ since, until }: UsageSummaryQuery, now: string): Stretch {
  const untilMs = Date.parse(wholeSecond(until ?? now));
  const standardMs = untilMs - USAGE_SUMMARY_DAYS.standard * DAY_MS;
  return { sinceMs: since === undefined ? standardMs : Date.parse(wholeSecond(since)), untilMs };
}

function refuse(member: keyof UsageSummaryQuery, rule: string, input: string | undefined) {
  return refuseInvalid([{ ...ruleBroken(rule), loc: ["query", member], input: input ?? null }]);
}

const SECOND_MS = 1000;

/** Milliseconds since the epoch, both at whole seconds. */
export interface Stretch {
  readonly sinceMs: number;
  readonly untilMs: number;
}

type Sum = UsageSummary["items"][number];

/** Sums of the parts of periods that are within a time range. */
export interface Sums {
  add(period: Omit<SummedPeriod, "id">): void;
  readonly count: number;
  /** By day, then by name. */
  items(): readonly Sum[];
}

export function createSums(by: UsageGrouping, { sinceMs, untilMs }: Stretch): Sums {
  const dimensions = new Set(by.split(","));
  const [byDay, byRobot, byModel] = [dimensions.has("day"), dimensions.has("robot"), dimensions.has("model")];
  const sums = new Map<string, Sum>();

  function count(
    day: string | null,
    { robot_name: robotName, model_slug: modelSlug }: Pick<SummedPeriod, "robot_name" | "model_slug">,
    quantity: number,
  ): void {
    const [robot, model] = [byRobot ? robotName : null, byModel ? modelSlug : null];
    // Unambiguous, because names contain no NUL.
    const key = `${day ?? ""}\0${robot ?? ""}\0${model ?? ""}`;
    sums.set(key, { day, robot, model_slug: model, quantity: (sums.get(key)?.quantity ?? 0) + quantity });
  }

  return {
    add(period) {
      const startMs = Date.parse(period.period_start);
      // A running period has no end, but its quantity until now.
      const endMs = period.period_end === null ? startMs + period.quantity * SECOND_MS : Date.parse(period.period_end);
      const lastMs = Math.min(endMs, untilMs);
      for (let fromMs = Math.max(startMs, sinceMs); fromMs < lastMs;) {
        const nextDayMs = (Math.floor(fromMs / DAY_MS) + 1) * DAY_MS;
        const toMs = byDay ? Math.min(lastMs, nextDayMs) : lastMs;
        const day = byDay ? new Date(fromMs).toISOString().slice(0, "YYYY-MM-DD".length) : null;
        count(day, period, (toMs - fromMs) / SECOND_MS);
        fromMs = toMs;
      }
    },
    get count() {
      return sums.size;
    },
    items: () => [...sums.entries()].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, sum]) => sum),
  };
}
