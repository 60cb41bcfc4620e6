import * as z from "zod";

/** One entry of the usage ledger. The document leaves the members open. */
export const usageRecordSchema = z.looseObject({
  id: z.string(),
  created_at: z.string().nullish(),
  usage_type: z.string().nullish(),
  sku: z.string().nullish(),
  quantity: z.number().nullish(),
  unit: z.string().nullish(),
  /** Null where nobody is billed. */
  amount_cents: z.int().nullish(),
  deployment_id: z.string().nullish(),
  robot: z.string().nullish(),
  model_slug: z.string().nullish(),
  period_start: z.string().nullish(),
  period_end: z.string().nullish(),
});

export type UsageRecord = z.output<typeof usageRecordSchema>;

/** Answer of `GET /v1/me/usage`. */
export const usageListSchema = z.looseObject({ items: z.array(usageRecordSchema) });
