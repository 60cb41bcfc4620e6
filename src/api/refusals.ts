import * as z from "zod";

import { actorSchema, moment, nullableText } from "./audit.ts";
import type { Operation } from "./wire/operation.ts";

/** Refused registrations that an organization's list has at most: the newest. */
export const REFUSALS_SHOWN = { maximum: 1000 } as const;

/** Registrations of one robot that were refused alike, as one entry. */
export const refusalSchema = z.object({
  id: z.string(),
  robot: nullableText,
  status: z.int(),
  detail: z.string(),
  actor: actorSchema,
  address: z.string(),
  request_id: nullableText,
  first_at: moment,
  last_at: moment,
  count: z.int(),
});

export type RefusalView = z.output<typeof refusalSchema>;

/** Query of `GET /v1/me/refusals`. */
export const refusalQuerySchema = z.object({ robot: z.string().optional() });

export type RefusalQuery = z.output<typeof refusalQuerySchema>;

/** Answer of `GET /v1/me/refusals`. */
export const refusalListSchema = z.object({ items: z.array(refusalSchema) });

export const listRefusals = {
  summary: "List registrations that were refused",
  tag: "robots",
  method: "GET",
  path: "/v1/me/refusals",
  scopes: ["robots:read", "audit:read"],
  query: refusalQuerySchema,
  request: null,
  response: refusalListSchema,
} as const satisfies Operation;
