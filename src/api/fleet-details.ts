import * as z from "zod";

import { ENDPOINT_STATUSES, moment, nullableText } from "./endpoints.ts";
import { fleetPreviewSchema } from "./fleets.ts";
import { BODY_BYTES } from "./wire/body-bytes.ts";
import type { Operation } from "./wire/operation.ts";
import { pageQuerySchema } from "./wire/pages.ts";

export const FLEET_MEMBER_STATES = ["ready", "active", "waiting", "blocked"] as const;
export const SELECTION_KINDS = ["robots", "selector"] as const;

/** Generations that details show at most: the newest, and what the fleet works with. */
export const GENERATIONS_SHOWN = { maximum: 100 } as const;

export const fleetMemberViewSchema = z.object({
  robot_id: z.string(),
  robot: z.string(),
  robot_type_id: z.string(),
  region: z.string(),
  site: nullableText,
  state: z.enum(FLEET_MEMBER_STATES),
  waiting_for: z.enum(["endpoint", "window", "peak"]).nullable(),
  reason: nullableText,
});

export type FleetMemberView = z.output<typeof fleetMemberViewSchema>;

export const fleetGenerationViewSchema = z.object({
  generation_id: z.string(),
  subject: z.string(),
  status: z.string(),
  created_at: moment,
  activated_at: moment.nullable(),
  blocker: nullableText,
});

export type FleetGenerationView = z.output<typeof fleetGenerationViewSchema>;

export const fleetEndpointViewSchema = z.object({
  generation_id: z.string(),
  region: z.string(),
  status: z.enum(ENDPOINT_STATUSES),
  since: moment.nullable(),
  checked_at: moment.nullable(),
  detail: nullableText,
});

export type FleetEndpointView = z.output<typeof fleetEndpointViewSchema>;

/** The filters of a selector, all of them; a reader ignores others that may come. */
const selectorViewSchema = z.object({
  site: nullableText,
  region: nullableText,
  robot_type_id: nullableText,
  labels: z.record(z.string(), z.string()),
});

/** What the members of a fleet were chosen by, when it was made. */
export const fleetSelectionViewSchema = z.object({
  kind: z.enum(SELECTION_KINDS),
  selector: selectorViewSchema.nullable(),
});

export type FleetSelectionView = z.output<typeof fleetSelectionViewSchema>;

/** Something that a person has to see to: what is the matter, and what to do, a sentence each. */
export const fleetNeedSchema = z.object({ reason: z.string(), action: z.string() });

export type FleetNeed = z.output<typeof fleetNeedSchema>;

const count = z.int().min(0);

/** The waiting robots of a fleet by what they wait for. */
export const waitingCountsSchema = z.object({ endpoint: count, window: count, peak: count });

export type WaitingCounts = z.output<typeof waitingCountsSchema>;

export const fleetNeedsSchema = z.object({
  fleet_id: z.string(),
  needs: z.array(fleetNeedSchema),
  waiting: waitingCountsSchema,
});

export type FleetNeeds = z.output<typeof fleetNeedsSchema>;

/** Answer of `GET /v1/me/fleet-needs`. */
export const fleetNeedsListSchema = z.object({ items: z.array(fleetNeedsSchema) });

/** Answer of `GET /v1/fleets/{fleet_id}/details`: why a fleet is as its view says. */
export const fleetDetailsSchema = z.object({
  created_at: moment,
  updated_at: moment.nullable(),
  operating_windows: z.array(z.object({ starts_at: moment, ends_at: moment })),
  selection: fleetSelectionViewSchema,
  generations: z.array(fleetGenerationViewSchema),
  members: z.array(fleetMemberViewSchema),
  endpoints: z.array(fleetEndpointViewSchema),
  needs: z.array(fleetNeedSchema),
  waiting: waitingCountsSchema,
});

export type FleetDetails = z.output<typeof fleetDetailsSchema>;

export const previewedRobotSchema = z.object({
  robot_id: z.string(),
  robot: z.string(),
  robot_type_id: z.string(),
  region: z.string(),
  site: nullableText,
  labels: z.record(z.string(), z.string()),
  fits: z.boolean().nullable(),
  reason: nullableText,
});

export type PreviewedRobot = z.output<typeof previewedRobotSchema>;

/** Answer of `POST /v1/fleets/preview`. */
export const fleetPreviewedSchema = z.object({
  robots: z.array(previewedRobotSchema),
  total: z.int().min(0),
});

export type FleetPreviewed = z.output<typeof fleetPreviewedSchema>;

export const getFleetDetails = {
  summary: "Tell why a robot fleet is as it is",
  tag: "fleets",
  method: "GET",
  path: "/v1/fleets/{fleet_id}/details",
  scopes: ["fleets:read"],
  request: null,
  response: fleetDetailsSchema,
} as const satisfies Operation;

export const listFleetNeeds = {
  summary: "List what robot fleets need from a person",
  tag: "fleets",
  method: "GET",
  path: "/v1/me/fleet-needs",
  scopes: ["fleets:read"],
  query: pageQuerySchema,
  request: null,
  response: fleetNeedsListSchema,
} as const satisfies Operation;

export const previewFleet = {
  summary: "Show which robots a fleet would have",
  tag: "fleets",
  method: "POST",
  path: "/v1/fleets/preview",
  scopes: ["robots:read"],
  request: fleetPreviewSchema,
  bodyBytes: BODY_BYTES.fleet,
  response: fleetPreviewedSchema,
} as const satisfies Operation;
