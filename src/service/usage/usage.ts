/**
 * Usage: periods from a whole second to a whole second, both ISO 8601 in UTC with milliseconds.
 *
 * Every period of a robot starts and ends on a whole second of the wall clock, and none starts before the previous one ended, so each
 * second is counted once and nothing is rounded. Time that a clock skips within a period counts, and after it went back, nothing counts
 * until it is there again. Exception: a period that ends more than a day in the future, written with a wrong clock, does not delay the
 * following ones.
 */
import { sql } from "kysely";

import type { UsageQuery, UsageRecord } from "../../api/usage.ts";
import { isoNow, isoTime } from "../../platform/clock.ts";
import { answerList, ITEMS } from "../kernel/lists/answer-list.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { firstIdAt } from "../kernel/ids.ts";
import type { PageRange } from "../kernel/lists/pages.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

/** `GET /v1/me/usage`: the periods in which a robot had an active deployment, oldest first. A running one has no end. */
export function listOrganizationUsage({ store, machine }: OperationContext): Handler<null, UsageQuery> {
  return (call) => {
    const now = isoNow(machine.clock);
    const { since, until } = call.query;
    return answerList(call, {
      prefix: "use",
      around: ITEMS,
      fetch: (range) => listUsage(store.reader, call.principal.organizationId, range, now, { since, until }),
      view: usageView,
    });
  };
}

/** `amount_cents` is part of the contract; this service does not bill. */
function usageView({ robot_name: robot, ...period }: UsagePeriod): UsageRecord {
  return {
    id: period.id,
    created_at: period.created_at,
    usage_type: period.usage_type,
    sku: period.sku,
    quantity: period.quantity,
    unit: period.unit,
    amount_cents: null,
    deployment_id: period.deployment_id,
    robot,
    model_slug: period.model_slug,
    period_start: period.period_start,
    period_end: period.period_end,
  };
}

/** The measured quantity: seconds in which a robot had an active deployment. */
const MEASURE = { usage_type: "robot_time", sku: "robot-time", unit: "second" } as const;

const METERED = ["id", "organization_id", "robot_id", "model_slug", "usage_from", "usage_id", "usage_until"] as const;

/** The members of a deployment that metering needs. */
type MeteredDeployment = Pick<Tables["deployments"], (typeof METERED)[number]>;

/**
 * Enters the running period of a deployment in the ledger, until now. A period shorter than a second is not entered.
 *
 * The caller has locked the deployment's row, and ends or replaces the period in the same transaction. The row's `usage_id` is the key of
 * the entry, so a period cannot be entered twice.
 *
 * @returns the end of the deployment's last period.
 */
export async function closePeriod(
  transaction: Transaction,
  deployment: MeteredDeployment,
  now: string,
): Promise<string | null> {
  const { usage_from: usageFrom, usage_id: usageId, usage_until: usageUntil } = deployment;
  if (usageFrom === null || usageId === null) return usageUntil;
  const end = periodEnd(usageFrom, now);
  const quantity = periodSeconds(usageFrom, end);
  if (quantity === 0) return usageUntil;
  const { name } = await transaction
    .selectFrom("robots")
    .select("name")
    .where("organization_id", "=", deployment.organization_id)
    .where("id", "=", deployment.robot_id)
    .executeTakeFirstOrThrow();
  await transaction
    .insertInto("usage_records")
    .values({
      id: usageId,
      organization_id: deployment.organization_id,
      deployment_id: deployment.id,
      robot_name: name,
      model_slug: deployment.model_slug,
      ...MEASURE,
      quantity,
      period_start: usageFrom,
      period_end: end,
      created_at: usageFrom,
    })
    .execute();
  return end;
}

/** The end of a robot's last period, of any of its deployments, ignoring ends after `latest`; null without one. */
export async function lastPeriodEnd(
  transaction: Transaction,
  organizationId: string,
  robotId: string,
  latest: string,
): Promise<string | null> {
  const last = await transaction
    .selectFrom("deployments")
    .select(({ fn }) => fn.max("usage_until").as("until"))
    .where("organization_id", "=", organizationId)
    .where("robot_id", "=", robotId)
    .where("usage_until", "<=", latest)
    .executeTakeFirst();
  return last?.until ?? null;
}

/** One period, with its quantity in `unit`s. A running one has no end, and its quantity until now. */
export type UsagePeriod = Omit<Tables["usage_records"], "organization_id" | "period_end"> & {
  readonly period_end: string | null;
};

/** The time in the id of a period of usual length differs from its start by at most this, for reasons such as late writes and other clocks. */
export const NAMED_WITHIN_MS = 2 * 86_400_000;

/**
 * Periods of an organization as of now, oldest first. A period gets its id at its start, so it keeps its place in the list, and is listed
 * once, also if it is entered in the ledger between two pages.
 *
 * @param begin only periods that begin from `since` to before `until`, ISO 8601.
 */
export async function listUsage(
  reader: Reader,
  organizationId: string,
  { after, rows }: PageRange,
  now: string,
  begin: Partial<Pick<UsageQuery, "since" | "until">> = {},
): Promise<readonly UsagePeriod[]> {
  let entered = reader
    .selectFrom("usage_records")
    .select(["id", "deployment_id", "robot_name", "model_slug", "usage_type", "sku", "unit", "quantity"])
    .select(["period_start", sql<string | null>`period_end`.as("period_end"), "created_at"])
    .where("organization_id", "=", organizationId);
  let running = reader
    .selectFrom("deployments")
    .innerJoin("robots", "robots.id", "deployments.robot_id")
    .select([
      sql<string>`usage_id`.as("id"),
      "deployments.id as deployment_id",
      "robots.name as robot_name",
      "model_slug",
      sql<string>`cast(${MEASURE.usage_type} as text)`.as("usage_type"),
      sql<string>`cast(${MEASURE.sku} as text)`.as("sku"),
      sql<string>`cast(${MEASURE.unit} as text)`.as("unit"),
      sql<number>`cast(0 as integer)`.as("quantity"),
      sql<string>`usage_from`.as("period_start"),
      sql<string | null>`cast(null as text)`.as("period_end"),
      sql<string>`usage_from`.as("created_at"),
    ])
    .where("deployments.organization_id", "=", organizationId)
    .where("usage_id", "is not", null)
    .where("usage_from", "<", wholeSecond(now));
  if (after !== null) {
    entered = entered.where("id", ">", after);
    running = running.where("usage_id", ">", after);
  }
  if (begin.since !== undefined) {
    const sinceMs = Date.parse(begin.since);
    // By id, so that the periods before are not read.
    const first = firstIdAt("use", sinceMs - NAMED_WITHIN_MS);
    entered = entered.where("period_start", ">=", isoTime(sinceMs)).where("id", ">=", first);
    running = running.where("usage_from", ">=", isoTime(sinceMs));
  }
  if (begin.until !== undefined) {
    const untilMs = Date.parse(begin.until);
    const last = firstIdAt("use", untilMs + NAMED_WITHIN_MS);
    entered = entered.where("period_start", "<", isoTime(untilMs)).where("id", "<", last);
    running = running.where("usage_from", "<", isoTime(untilMs));
  }
  // The limit in each part lets it use its index.
  const periods = await reader
    .selectFrom(entered.orderBy("id").limit(rows).as("entered"))
    .selectAll()
    .unionAll(reader.selectFrom(running.orderBy("usage_id").limit(rows).as("running")).selectAll())
    .orderBy("id")
    .limit(rows)
    .execute();
  return periods.map((period) => {
    if (period.period_end !== null) return period;
    const quantity = periodSeconds(period.period_start, periodEnd(period.period_start, now));
    return Object.assign(period, { quantity });
  });
}

/** A condition on the start of a period. */
export type Began = readonly [comparison: "<" | ">", moment: string];

/** Maximum number of periods split in one transaction. */
export const PERIODS_AT_A_TIME = 100;

/** Deployments with a running period that began then, locked until the transaction ends, without those that others have locked. */
export function lockPeriods(
  transaction: Transaction,
  [comparison, moment]: Began,
): Promise<readonly MeteredDeployment[]> {
  return transaction
    .selectFrom("deployments")
    .select(METERED)
    .where("usage_from", comparison, moment)
    .orderBy("usage_from")
    .orderBy("id")
    .limit(PERIODS_AT_A_TIME)
    .forUpdate()
    .skipLocked()
    .execute();
}

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;
/** A period that ends further in the future was written with a wrong clock. */
const AHEAD_MAXIMUM_MS = 24 * HOUR_MS;

/** Start of a period that begins now: not before `until`, the end of the robot's last one, even if the clock went back. */
export function periodStart(now: string, until: string | null): string {
  const start = wholeSecond(now);
  return until !== null && until > start ? until : start;
}

/** End of a period that stops now: not before its start, even if the clock went back. */
export function periodEnd(start: string, now: string): string {
  const end = wholeSecond(now);
  return end < start ? start : end;
}

/** Length of a period in seconds. */
export function periodSeconds(start: string, end: string): number {
  return (Date.parse(end) - Date.parse(start)) / SECOND_MS;
}

/** The latest credible end of a period in the ledger; later ones are ignored. */
export function latestBelieved(now: string): string {
  return isoTime(Date.parse(wholeSecond(now)) + AHEAD_MAXIMUM_MS);
}

/** The start of the hour of `now`, where running periods are split. */
export function wholeHour(now: string): string {
  return floorTo(now, HOUR_MS);
}

/** The start of the second of `now`. */
export function wholeSecond(now: string): string {
  return floorTo(now, SECOND_MS);
}

function floorTo(now: string, unitMs: number): string {
  return new Date(Math.floor(Date.parse(now) / unitMs) * unitMs).toISOString();
}
