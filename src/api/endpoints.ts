import * as z from "zod";

import { operationsOf } from "./wire/operation.ts";

// The description of the interface knows schemas by identity: shared with one other file alone, or its words would stand everywhere.
/** ISO 8601 date-time. */
export const time = z.string();
export const nullableText = z.string().nullable();

export const ENDPOINT_STATUSES = ["healthy", "unhealthy", "unknown"] as const;

export const endpointViewSchema = z
  .object({
    model_slug: z.string(),
    checkpoint_id: z.string(),
    region: z.string(),
    status: z.enum(ENDPOINT_STATUSES).describe("unknown: the probes have no result yet."),
    since: time.nullable().describe("When the endpoint got this status; null while unknown."),
    checked_at: time.nullable().describe("When it was last probed."),
    detail: nullableText.describe("Why the last probe failed; null if it did not fail."),
  })
  .meta({ id: "EndpointView" });
export type EndpointView = z.output<typeof endpointViewSchema>;

/** Answer of `GET /v1/endpoints`. */
export const endpointListSchema = z.object({ items: z.array(endpointViewSchema) }).meta({ id: "EndpointList" });

/** Answer of `GET /v1/regions`. */
export const regionListSchema = z.object({ regions: z.array(z.string()) }).meta({ id: "RegionList" });

const operation = operationsOf("catalog");

export const listEndpoints = operation("GET", "/v1/endpoints", {
  summary: "List the health of the endpoints of the catalog",
  does: "Lists the health of the catalog's endpoints according to the last probe of each. An endpoint is probed every few seconds while a fleet or a deployment needs it, otherwise every few minutes. The list does not contain their URLs.",
  answers: { 200: "All endpoints, in the order of the catalog." },
  scopes: ["models:read"],
  response: endpointListSchema,
});

export const listRegions = operation("GET", "/v1/regions", {
  summary: "List the regions that endpoints are in",
  does: "Lists the codes of the regions in which the catalog has inference endpoints. A robot may register any region, but models serve it only in these. Needs no credential, so that a computer can check its region before it enrolls.",
  answers: { 200: "The region codes, sorted. This list has no pages." },
  // Asked before there is a credential: by who sets a robot up, to see that models can serve its region.
  scopes: "public",
  response: regionListSchema,
});
