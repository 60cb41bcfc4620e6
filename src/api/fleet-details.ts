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

export const fleetMemberViewSchema = z
  .object({
    robot_id: z.string(),
    robot: z.string().describe("Its name."),
    robot_type_id: z.string(),
    region: z.string(),
    site: nullableText,
    state: z.enum(FLEET_MEMBER_STATES).describe("As in the counts of the fleet."),
    waiting_for: z
      .enum(["endpoint", "window", "peak"])
      .nullable()
      .describe(
        "What a waiting robot waits for: its endpoint, the fleet's operating window, or room below the fleet's peak. Null in the other states.",
      ),
    reason: nullableText.describe("What keeps it from being ready, in a sentence; null where nothing does."),
  })
  .meta({ id: "FleetMemberView" });

export type FleetMemberView = z.output<typeof fleetMemberViewSchema>;

export const fleetGenerationViewSchema = z
  .object({
    generation_id: z.string(),
    subject: z.string(),
    status: z
      .string()
      .describe(
        "Of what the fleet works with and of its update as in the view of the fleet; superseded: another took its place. There may be others later.",
      ),
    created_at: moment,
    activated_at: moment
      .nullable()
      .describe("When its servers were all healthy for the first time; null where they never were."),
    blocker: nullableText.describe("What a person has to do, in a sentence; null unless the status is blocked."),
  })
  .meta({ id: "FleetGenerationView" });

export type FleetGenerationView = z.output<typeof fleetGenerationViewSchema>;

export const fleetEndpointViewSchema = z
  .object({
    generation_id: z.string().describe("Which generation needs it."),
    region: z.string(),
    status: z.enum(ENDPOINT_STATUSES).describe("unknown: no probe has told yet."),
    since: moment.nullable().describe("When it became so; null while unknown."),
    checked_at: moment.nullable().describe("When it was last probed."),
    detail: nullableText.describe("Why the last probe failed; null where it did not."),
  })
  .meta({ id: "FleetEndpointView" });

export type FleetEndpointView = z.output<typeof fleetEndpointViewSchema>;

/** The filters of a selector, all of them; a reader ignores others that may come. */
const selectorViewSchema = z.object({
  site: nullableText,
  region: nullableText,
  robot_type_id: nullableText,
  labels: z.record(z.string(), z.string()),
});

/** What the members of a fleet were chosen by, when it was made. */
export const fleetSelectionViewSchema = z
  .object({
    kind: z.enum(SELECTION_KINDS).describe("robots: they were named. selector: they matched."),
    selector: selectorViewSchema.nullable().describe("Null where they were named."),
  })
  .meta({ id: "FleetSelectionView" });

export type FleetSelectionView = z.output<typeof fleetSelectionViewSchema>;

/** Something that a person has to see to: what is the matter, and what to do, a sentence each. */
export const fleetNeedSchema = z
  .object({
    reason: z.string().describe("What is the matter."),
    action: z.string().describe("What a person can do."),
  })
  .meta({ id: "FleetNeed" });

export type FleetNeed = z.output<typeof fleetNeedSchema>;

const count = z.int().min(0);

/** The waiting robots of a fleet by what they wait for. */
export const waitingCountsSchema = z
  .object({
    endpoint: count.describe("Their endpoint is not known to be healthy."),
    window: count.describe("The fleet is outside its operating windows."),
    peak: count.describe("As many robots as peak_active_robots are active or ready."),
  })
  .meta({ id: "WaitingCounts", description: "The waiting robots, each counted once." });

export type WaitingCounts = z.output<typeof waitingCountsSchema>;

export const fleetNeedsSchema = z
  .object({
    fleet_id: z.string(),
    needs: z
      .array(fleetNeedSchema)
      .describe(
        "Most urgent first; empty where no person is needed: the fleet or its update is blocked, robots lack what the model needs, an endpoint that was healthy fails, or one fails for longer than preparing takes.",
      ),
    waiting: waitingCountsSchema,
  })
  .meta({ id: "FleetNeeds" });

export type FleetNeeds = z.output<typeof fleetNeedsSchema>;

/** Answer of `GET /v1/me/fleet-needs`. */
export const fleetNeedsListSchema = z.object({ items: z.array(fleetNeedsSchema) }).meta({ id: "FleetNeedsList" });

/** Answer of `GET /v1/fleets/{fleet_id}/details`: why a fleet is as its view says. */
export const fleetDetailsSchema = z
  .object({
    created_at: moment,
    updated_at: moment.nullable().describe("When its model was last changed; null where it has its first."),
    operating_windows: z.array(z.object({ starts_at: moment, ends_at: moment })).describe("In their order, in UTC."),
    selection: fleetSelectionViewSchema.describe("How its members were chosen."),
    generations: z
      .array(fleetGenerationViewSchema)
      .describe("Newest first, 100 at most; what the fleet works with is among them."),
    members: z.array(fleetMemberViewSchema).describe("In the order they were registered."),
    endpoints: z
      .array(fleetEndpointViewSchema)
      .describe("Of its model and of its update, in regions that it has robots in."),
    needs: z.array(fleetNeedSchema).describe("What a person has to see to, most urgent first."),
    waiting: waitingCountsSchema.describe("What its waiting robots wait for."),
  })
  .meta({ id: "FleetDetails" });

export type FleetDetails = z.output<typeof fleetDetailsSchema>;

export const previewedRobotSchema = z
  .object({
    robot_id: z.string(),
    robot: z.string(),
    robot_type_id: z.string(),
    region: z.string(),
    site: nullableText,
    labels: z.record(z.string(), z.string()),
    fits: z.boolean().nullable().describe("Whether it has what the subject needs; null without a subject."),
    reason: nullableText.describe(
      "What it lacks, or, where it fits, why it could not run it now: its endpoint is not healthy.",
    ),
  })
  .meta({ id: "PreviewedRobot" });

export type PreviewedRobot = z.output<typeof previewedRobotSchema>;

/** Answer of `POST /v1/fleets/preview`. */
export const fleetPreviewedSchema = z
  .object({
    robots: z.array(previewedRobotSchema),
    total: z.int().min(0).describe("How many robots there are; all of them are shown."),
  })
  .meta({ id: "FleetPreviewed" });

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
