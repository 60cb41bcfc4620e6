import * as z from "zod";

import { labelsSchema, REGION_LENGTH, ROBOT_TYPE_ID_LENGTH, SITE_LENGTH } from "./robots.ts";
import { BODY_BYTES } from "./wire/body-bytes.ts";
import type { Operation } from "./wire/operation.ts";
import { pageQuerySchema } from "./wire/pages.ts";
import { text } from "./wire/text.ts";

export const FLEET_NAME_LENGTH = { minimum: 1, maximum: 128 } as const;
export const SUBJECT_LENGTH = { minimum: 1 } as const;
export const PEAK_ACTIVE_ROBOTS = { minimum: 1 } as const;
export const OPERATING_WINDOWS_COUNT = { maximum: 366 } as const;
export const SELECTION_ROBOTS_COUNT = { minimum: 1, maximum: 1000 } as const;
export const SELECTOR_LABELS_COUNT = { maximum: 32 } as const;

export const READINESS_MODES = ["always_ready", "scheduled", "on_demand"] as const;
export const readinessModeSchema = z.enum(READINESS_MODES).meta({ id: "ReadinessMode" });

export const FLEET_STATUSES = ["preparing", "ready", "degraded", "blocked"] as const;
export const fleetStatusSchema = z.enum(FLEET_STATUSES).meta({ id: "FleetStatus" });

const count = z.int().min(0);

/** A date-time with its offset: a window without one would move with the service's time zone. */
const dateTime = z.iso.datetime({ offset: true });

/** A query by which the service takes an explicit membership snapshot. */
export const robotSelectorSchema = z
  .strictObject({
    site: text(SITE_LENGTH).nullish(),
    region: text(REGION_LENGTH).nullish(),
    robot_type_id: text(ROBOT_TYPE_ID_LENGTH).nullish(),
    labels: labelsSchema(SELECTOR_LABELS_COUNT.maximum).optional(),
  })
  .meta({ id: "RobotSelector", description: "All filters that are given must match; at least one is." });

const selectionMembers = {
  robots: z
    .array(text())
    .min(SELECTION_ROBOTS_COUNT.minimum)
    .max(SELECTION_ROBOTS_COUNT.maximum)
    .nullish()
    .describe("Names or ids of robots, each once."),
  selector: robotSelectorSchema.nullish(),
  membership: z.literal("snapshot").default("snapshot"),
};

interface SelectionWays {
  readonly robots?: unknown;
  readonly selector?: unknown;
}

function isOneWay({ robots, selector }: SelectionWays): boolean {
  return ((robots ?? null) === null) !== ((selector ?? null) === null);
}

const ONE_WAY = "exactly one of robots and selector is required";

/** Who belongs to a fleet: by name (or id), or by selector; captured once, when the fleet is created. */
export const fleetRobotSelectionSchema = z.strictObject(selectionMembers).refine(isOneWay, ONE_WAY).meta({
  id: "FleetRobotSelection",
  description:
    "Exactly one of robots and selector. Membership is captured when the fleet is created; robots that are registered later do not join it.",
});

/** Body of `POST /v1/fleets/preview`: a selection, and the model or checkpoint its robots are to be judged by. */
export const fleetPreviewSchema = z
  .strictObject({
    ...selectionMembers,
    subject: text(SUBJECT_LENGTH)
      .nullish()
      .describe("A model or checkpoint to judge the robots by; without one nobody is judged."),
  })
  .refine(isOneWay, ONE_WAY)
  .meta({ id: "FleetPreview", description: "A selection as a fleet takes it: exactly one of robots and selector." });

export type FleetPreview = z.output<typeof fleetPreviewSchema>;

export const operatingWindowSchema = z
  .strictObject({ starts_at: dateTime, ends_at: dateTime })
  .meta({ id: "OperatingWindow" });

/** Body of `POST /v1/fleets`. */
export const fleetCreateSchema = z
  .strictObject({
    name: text(FLEET_NAME_LENGTH),
    subject: text(SUBJECT_LENGTH).describe(
      "A model by its slug, which stands for its default checkpoint, or a checkpoint by its id.",
    ),
    selection: fleetRobotSelectionSchema,
    peak_active_robots: z
      .int()
      .min(PEAK_ACTIVE_ROBOTS.minimum)
      .describe("Robots that are active at the same time, at most; no more than members."),
    readiness_mode: readinessModeSchema,
    operating_windows: z
      .array(operatingWindowSchema)
      .max(OPERATING_WINDOWS_COUNT.maximum)
      .default([])
      .describe("For the mode scheduled, which needs at least one; the others take none. They must not overlap."),
  })
  .meta({ id: "FleetCreate" });

export type FleetCreate = z.output<typeof fleetCreateSchema>;

/** Body of `POST /v1/fleets/{fleet_id}/model`. */
export const fleetModelUpdateSchema = z
  .object({
    subject: text(SUBJECT_LENGTH).describe("Slug of a model or id of a checkpoint."),
  })
  .meta({ id: "FleetModelUpdate" });

export type FleetModelUpdate = z.output<typeof fleetModelUpdateSchema>;

export const readinessEstimateSchema = z
  .object({
    lower_seconds: count,
    upper_seconds: count,
    updated_at: z.string(),
  })
  .meta({ id: "ReadinessEstimate" });

export const fleetRobotCountsSchema = z
  .object({
    registered: count.describe("Members of the fleet."),
    ready: count.describe(
      "Could be deployed now: their server is healthy, within peak_active_robots and operating windows.",
    ),
    active: count.describe("Have an active deployment of the fleet's checkpoint."),
    waiting: count.describe("All others."),
    blocked: count.describe("Lack what the model needs, or have no endpoint in their region."),
  })
  .meta({
    id: "FleetRobotCounts",
    description: "Each robot that is registered is counted once more: as ready, active, waiting or blocked.",
  });

export const fleetModelGenerationViewSchema = z
  .object({
    subject: z.string(),
    generation_id: z.string().describe("Another with every change of the model."),
    status: z
      .string()
      .describe(
        "preparing: its servers have not all been healthy yet. active: they have been. blocked: no robot of the fleet can run it. There may be others later.",
      ),
  })
  .meta({ id: "FleetModelGenerationView" });

export const fleetUpdateViewSchema = z
  .object({
    subject: z.string(),
    generation_id: z.string(),
    status: z
      .string()
      .describe(
        "pending: its servers have not all been looked at since it was asked for. preparing: they have, and not all are healthy. blocked: a person has to do what blocker says. There may be others later. An update that is done is active_model.",
      ),
    blocker: z
      .string()
      .nullish()
      .describe("What a person has to do, in a sentence; null unless the status is blocked."),
  })
  .meta({ id: "FleetUpdateView" });

/**
 * A fleet as the service shows it.
 *
 * The document lets no other member in: a sender's duty, which the service's own tests hold it to with `.strict()`. A reader
 * ignores members it does not know, or every growth of the service would break it.
 */
export const fleetViewSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    subject: z.string().describe("As it was asked for: what active_model works with."),
    readiness_mode: readinessModeSchema,
    peak_active_robots: z.int().min(PEAK_ACTIVE_ROBOTS.minimum),
    status: fleetStatusSchema.describe(
      "preparing: the servers it needs have not all been healthy since its model was chosen, or its next operating window is still to come. ready: everything its robots need answers. degraded: it was ready, and now a server fails or some robots do not suit the model. blocked: nothing becomes ready before a person does what blocker says.",
    ),
    blocker: z
      .string()
      .nullish()
      .describe("What a person has to do, in a sentence; null unless the status is blocked."),
    readiness_estimate: readinessEstimateSchema
      .nullish()
      .describe(
        "Seconds until it is ready, from preparations that were observed; null unless it is preparing, and as long as nothing was observed.",
      ),
    robots: fleetRobotCountsSchema,
    active_model: fleetModelGenerationViewSchema.nullish(),
    update: fleetUpdateViewSchema
      .nullish()
      .describe("The model that is to take the place of active_model; null where none is."),
  })
  .meta({ id: "FleetView" });

export type FleetView = z.output<typeof fleetViewSchema>;

/** Answer of `GET /v1/fleets`. */
export const fleetListSchema = z.array(fleetViewSchema);

export const createFleet = {
  summary: "Create a robot fleet",
  tag: "fleets",
  method: "POST",
  path: "/v1/fleets",
  scopes: ["fleets:write"],
  request: fleetCreateSchema,
  bodyBytes: BODY_BYTES.fleet,
  response: fleetViewSchema,
} as const satisfies Operation;

export const listFleets = {
  summary: "List robot fleets",
  tag: "fleets",
  method: "GET",
  path: "/v1/fleets",
  scopes: ["fleets:read"],
  query: pageQuerySchema,
  request: null,
  response: fleetListSchema,
} as const satisfies Operation;

export const updateFleetModel = {
  summary: "Update a fleet model",
  tag: "fleets",
  method: "POST",
  path: "/v1/fleets/{fleet_id}/model",
  scopes: ["fleets:write"],
  request: fleetModelUpdateSchema,
  bodyBytes: BODY_BYTES.names,
  response: fleetViewSchema,
} as const satisfies Operation;

export const getFleet = {
  summary: "Get a robot fleet",
  tag: "fleets",
  method: "GET",
  path: "/v1/fleets/{fleet_id}",
  scopes: ["fleets:read"],
  request: null,
  response: fleetViewSchema,
} as const satisfies Operation;
