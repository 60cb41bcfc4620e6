import * as z from "zod";

import { operationsOf } from "./wire/operation.ts";
import { pageQuerySchema, WHOLE_LIST } from "./wire/pages.ts";

/** One entry of the usage ledger. The service document leaves the members open. */
export const usageRecordSchema = z
  .looseObject({
    id: z.string(),
    created_at: z.string().nullish(),
    usage_type: z
      .string()
      .nullish()
      .describe("What was measured. robot_time: the time in which a robot had an active deployment."),
    sku: z.string().nullish().describe("Stock-keeping unit: robot-time. More values may be added."),
    quantity: z
      .number()
      .nullish()
      .describe("Amount in units. For a period that is still running, the amount up to now."),
    unit: z.string().nullish().describe("second. More values may be added."),
    amount_cents: z.int().nullish().describe("Null, because this service bills nobody."),
    deployment_id: z.string().nullish(),
    robot: z.string().nullish().describe("Name of the robot."),
    model_slug: z.string().nullish(),
    period_start: z.string().nullish(),
    period_end: z.string().nullish().describe("Null while the period runs."),
  })
  .meta({ id: "UsageRecord", description: "A period in which a robot had an active deployment." });
export type UsageRecord = z.output<typeof usageRecordSchema>;

/** Answer of `GET /v1/me/usage`. */
export const usageListSchema = z.looseObject({ items: z.array(usageRecordSchema) }).meta({ id: "UsageList" });

/** Groupings of usage sums. Days are in UTC. */
export const USAGE_GROUPINGS = ["day", "robot", "model", "day,robot", "day,model", "robot,model"] as const;
export type UsageGrouping = (typeof USAGE_GROUPINGS)[number];

export const USAGE_SUMMARY_DAYS = { standard: 30, maximum: 400 } as const;
/** Most sums in one summary. */
export const USAGE_SUMS_MAXIMUM = 10_000;

const dateTime = z.iso.datetime({ offset: true });

/** Query of `GET /v1/me/usage`: a ledger of years is long. A period counts in the time in which it begins. */
export const usageQuerySchema = pageQuerySchema.extend({
  since: dateTime.optional().describe("Only periods that begin at this time or later: an ISO 8601 time with offset."),
  until: dateTime.optional().describe("Only periods that begin before this time: an ISO 8601 time with offset."),
});
export type UsageQuery = z.output<typeof usageQuerySchema>;

/** Query of `GET /v1/me/usage/summary`: from `since` to `until`, by default the last 30 days. */
export const usageSummaryQuerySchema = z.object({
  since: dateTime
    .optional()
    .describe("Start of the time range: an ISO 8601 time with offset. Default: 30 days before `until`."),
  until: dateTime.optional().describe("End of the time range: an ISO 8601 time with offset. Default: now."),
  by: z.enum(USAGE_GROUPINGS).default("day").describe("What the sums are grouped by. Days are in UTC."),
});
export type UsageSummaryQuery = z.output<typeof usageSummaryQuerySchema>;

/** Time with an active deployment, in whole seconds. Members that the sum is not grouped by are null. */
export const usageSumSchema = z
  .looseObject({
    day: z.string().nullable().describe("YYYY-MM-DD in UTC."),
    robot: z.string().nullable(),
    model_slug: z.string().nullable(),
    quantity: z.number(),
  })
  .meta({
    id: "UsageSum",
    description: "Time in which robots had an active deployment. Members that the sums are not grouped by are null.",
  });

/** Answer of `GET /v1/me/usage/summary`. */
export const usageSummarySchema = z
  .looseObject({
    since: z.string(),
    until: z.string(),
    by: z.string(),
    unit: z.string().describe("Unit of all quantities: second."),
    total: z.number().describe("Total of all sums."),
    items: z.array(usageSumSchema).describe("Sorted by day, then by name. Without sums of zero."),
  })
  .meta({ id: "UsageSummary" });
export type UsageSummary = z.output<typeof usageSummarySchema>;

const operation = operationsOf("customer-auth");

export const listUsage = operation("GET", "/v1/me/usage", {
  summary: "List hosted usage",
  does: "Lists the periods in which robots had an active deployment. A period ends at each full hour (UTC) and when the deployment ends. A period that is still running has no period_end, and its quantity is the time up to now. The quantities of a robot add up to its total time; each second is counted once.",
  answers: { 200: WHOLE_LIST },
  scopes: ["usage:read"],
  query: usageQuerySchema,
  response: usageListSchema,
});

export const summarizeUsage = operation("GET", "/v1/me/usage/summary", {
  summary: "Sum up usage",
  does: "Sums up the seconds in which robots had an active deployment, by day (UTC), robot, model, or two of these. A period that is still running counts up to now; a period that is partly outside the requested time counts only with the part inside. The service computes one summary at a time; if too many requests are waiting, it answers 503 with Retry-After.",
  answers: { 200: "The sums, sorted by day, then by name, and their total." },
  scopes: ["usage:read"],
  query: usageSummaryQuerySchema,
  response: usageSummarySchema,
});
