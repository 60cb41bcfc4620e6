import { sql } from "kysely";
import type { Transaction } from "kysely";

import type { PageRange } from "../kernel/lists/page-range.ts";
import { USUAL_PERIOD_S } from "../kernel/store/migrations.ts";
import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import type { UsageTime } from "./period.ts";
import { periodEnd, periodSeconds, wholeSecond } from "./period.ts";

/** What is measured here: seconds in which a robot had an active deployment. */
const MEASURE = { usage_type: "robot_time", sku: "robot-time", unit: "second" } as const;

/** A deployment as far as the ledger cares. */
export type MeteredDeployment = Pick<
  Tables["deployments"],
  "id" | "organization_id" | "robot_id" | "model_slug" | "usage_from" | "usage_id" | "usage_until"
>;

/**
 * Enters the running period of a deployment in the ledger, until now. A period without a second is not entered.
 *
 * The caller holds the deployment's row, and writes down in the same transaction that the period does not run any more: the
 * row's `usage_id` is the key of the entry, so it is there once or not at all.
 *
 * @returns the end of the deployment's last period.
 */
export async function closePeriod(
  transaction: Transaction<Tables>,
  deployment: MeteredDeployment,
  now: UsageTime,
): Promise<string | null> {
  const {
    id,
    organization_id: organizationId,
    robot_id: robotId,
    model_slug: modelSlug,
    usage_from: usageFrom,
    usage_id: usageId,
    usage_until: usageUntil,
  } = deployment;
  if (usageFrom === null || usageId === null) return usageUntil;
  const end = periodEnd(usageFrom, now);
  const quantity = periodSeconds(usageFrom, end);
  if (quantity === 0) return usageUntil;
  const { name } = await transaction
    .selectFrom("robots")
    .select("name")
    .where("organization_id", "=", organizationId)
    .where("id", "=", robotId)
    .executeTakeFirstOrThrow();
  await transaction
    .insertInto("usage_records")
    .values({
      id: usageId,
      organization_id: organizationId,
      deployment_id: id,
      robot_name: name,
      model_slug: modelSlug,
      ...MEASURE,
      quantity,
      period_start: usageFrom,
      period_end: end,
      created_at: usageFrom,
    })
    .execute();
  return end;
}

/** When the last period of a robot ended, of whichever deployment, but for ends after `latest`; null when it had none. */
export async function lastPeriodEnd(
  transaction: Transaction<Tables>,
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

/** One period. While it runs it has no end yet, and its quantity is what it has come to so far. */
export interface UsagePeriod {
  readonly id: string;
  readonly deployment_id: string;
  readonly robot_name: string;
  readonly model_slug: string;
  readonly usage_type: string;
  readonly sku: string;
  /** In `unit`s. */
  readonly quantity: number;
  readonly unit: string;
  readonly period_start: string;
  readonly period_end: string | null;
  readonly created_at: string;
}

/**
 * Periods of an organization as of now, oldest first. A period has its id from its beginning, so it keeps its
 * place, and shows once however the pages are cut, when it is entered in the ledger meanwhile.
 */
export async function listUsage(
  reader: Reader,
  organizationId: string,
  { after, rows }: PageRange,
  now: UsageTime,
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
    .where("usage_from", "<", wholeSecond(now.at));
  if (after !== null) {
    entered = entered.where("id", ">", after);
    running = running.where("usage_id", ">", after);
  }
  if (rows !== null) {
    // Each by its index, or a page would cost as much as the list.
    entered = entered.orderBy("id").limit(rows);
    running = running.orderBy("usage_id").limit(rows);
  }
  const both = reader
    .selectFrom(entered.as("entered"))
    .selectAll()
    .unionAll(reader.selectFrom(running.as("running")).selectAll())
    .orderBy("id");
  const periods = await (rows === null ? both : both.limit(rows)).execute();
  // A period that runs has come to its quantity so far.
  return periods.map((period) => {
    if (period.period_end !== null) return period;
    const quantity = periodSeconds(period.period_start, periodEnd(period.period_start, now));
    return Object.assign(period, { quantity });
  });
}

const SUMMED = ["id", "robot_name", "model_slug", "period_start", "period_end", "quantity"] as const;

/** A period as far as it is summed up. */
export type SummedPeriod = Pick<UsagePeriod, (typeof SUMMED)[number]>;

/**
 * Periods in the ledger that are longer than `USUAL_PERIOD_S`, were named until `until` and ended after `since`, oldest first: what
 * a service that stood still for days entered when it was back.
 *
 * @param since ISO 8601, as the ledger has it.
 */
export function listLongPeriods(
  reader: Reader,
  organizationId: string,
  { after, until, rows }: { readonly after: string; readonly until: string; readonly rows: number },
  since: string,
): Promise<readonly SummedPeriod[]> {
  return (
    reader
      .selectFrom("usage_records")
      .select(SUMMED)
      .where("organization_id", "=", organizationId)
      // As the index has it, or it is not used.
      .where("quantity", ">", sql.lit(USUAL_PERIOD_S))
      .where("id", ">", after)
      .where("id", "<=", until)
      .where("period_end", ">", since)
      .orderBy("id")
      .limit(rows)
      .execute()
  );
}

/** When a period began: before a moment, or after it. */
export type Began = readonly [comparison: "<" | ">", moment: string];

/** Periods cut in one transaction. */
export const PERIODS_AT_A_TIME = 100;

/** Deployments whose period still runs and began then, held until the transaction ends, but for those others hold. */
export function lockPeriods(
  transaction: Transaction<Tables>,
  [comparison, moment]: Began,
): Promise<readonly MeteredDeployment[]> {
  return transaction
    .selectFrom("deployments")
    .select(["id", "organization_id", "robot_id", "model_slug", "usage_from", "usage_id", "usage_until"])
    .where("usage_from", comparison, moment)
    .orderBy("usage_from")
    .orderBy("id")
    .limit(PERIODS_AT_A_TIME)
    .forUpdate()
    .skipLocked()
    .execute();
}
