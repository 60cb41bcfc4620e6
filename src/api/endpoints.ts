import * as z from "zod";

import type { Operation } from "./wire/operation.ts";

// The description of the interface knows schemas by identity: shared with one other file alone, or its words would stand everywhere.
/** ISO 8601 date-time. */
export const moment = z.string();
export const nullableText = z.string().nullable();

export const ENDPOINT_STATUSES = ["healthy", "unhealthy", "unknown"] as const;

export const endpointViewSchema = z.object({
  model_slug: z.string(),
  checkpoint_id: z.string(),
  region: z.string(),
  status: z.enum(ENDPOINT_STATUSES),
  since: moment.nullable(),
  checked_at: moment.nullable(),
  detail: nullableText,
});

export type EndpointView = z.output<typeof endpointViewSchema>;

/** Answer of `GET /v1/endpoints`. */
export const endpointListSchema = z.object({ items: z.array(endpointViewSchema) });

/** Answer of `GET /v1/regions`. */
export const regionListSchema = z.object({ regions: z.array(z.string()) });

export const listEndpoints = {
  summary: "List how the endpoints of the catalog are",
  tag: "catalog",
  method: "GET",
  path: "/v1/endpoints",
  scopes: ["models:read"],
  request: null,
  response: endpointListSchema,
} as const satisfies Operation;

export const listRegions = {
  summary: "List the regions that endpoints are in",
  tag: "catalog",
  method: "GET",
  path: "/v1/regions",
  // A robot asks with the key it registers with whether models can serve it where it is.
  scopes: "any",
  request: null,
  response: regionListSchema,
} as const satisfies Operation;
