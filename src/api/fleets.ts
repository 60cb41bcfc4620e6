import * as z from "zod";

import { ROBOT_TEXTS } from "./robot-texts.ts";
import { labelsSchema, REGION_LENGTH, ROBOT_TYPE_ID_LENGTH } from "./robots.ts";
import { BODY_BYTES } from "./wire/body-bytes.ts";
import { operationsOf } from "./wire/operation.ts";
import { pageQuerySchema, WHOLE_LIST } from "./wire/pages.ts";
import { describeValues, text } from "./wire/text.ts";

export const SUBJECT_LENGTH = { minimum: 1 } as const;
export const PEAK_ACTIVE_ROBOTS = { minimum: 1 } as const;
export const OPERATING_WINDOWS_COUNT = { maximum: 366 } as const;
export const SELECTION_ROBOTS_COUNT = { minimum: 1, maximum: 1000 } as const;

export const READINESS_MODES = ["always_ready", "scheduled", "on_demand"] as const;
export const readinessModeSchema = z.enum(READINESS_MODES).meta({ id: "ReadinessMode" });

export const FLEET_STATUSES = ["preparing", "ready", "degraded", "blocked"] as const;
export const FLEET_STATUS_MEANINGS: Readonly<Record<(typeof FLEET_STATUSES)[number], string>> = {
  preparing:
    "some endpoints it needs have not been healthy since its model was chosen, or its next operating window has not started",
  ready: "all endpoints that its robots need are healthy",
  degraded: "it was ready, and now an endpoint fails or some robots cannot run the model",
  blocked: "it cannot become ready until a person does what blocker says",
};
export const fleetStatusSchema = z.enum(FLEET_STATUSES).meta({ id: "FleetStatus" });

const count = z.int().min(0);

/** A date-time with its offset: without one, a window would depend on the service's time zone. */
const dateTime = z.iso.datetime({ offset: true });

/** A query that selects the members of a fleet. */
export const robotSelectorSchema = z
  .strictObject({
    site: text(ROBOT_TEXTS.site.length).nullish(),
    region: text(REGION_LENGTH).nullish(),
    robot_type_id: text(ROBOT_TYPE_ID_LENGTH).nullish(),
    labels: labelsSchema(32).optional(),
  })
  .meta({ id: "RobotSelector", description: "At least one filter. A robot must match all given filters." });

const selectionMembers = {
  robots: z
    .array(text())
    .min(SELECTION_ROBOTS_COUNT.minimum)
    .max(SELECTION_ROBOTS_COUNT.maximum)
    .nullish()
    .describe("Names or ids of robots, each once."),
  selector: robotSelectorSchema.nullish(),
  membership: z.literal("snapshot").default("snapshot").describe("The members are fixed when the fleet is created."),
};

interface SelectionWays {
  readonly robots?: unknown;
  readonly selector?: unknown;
}

function isOneWay({ robots, selector }: SelectionWays): boolean {
  return ((robots ?? null) === null) !== ((selector ?? null) === null);
}

const ONE_WAY = "exactly one of robots and selector is required";

/** Who belongs to a fleet: by name (or id), or by selector. */
export const fleetRobotSelectionSchema = z.strictObject(selectionMembers).refine(isOneWay, ONE_WAY).meta({
  id: "FleetRobotSelection",
  description:
    "Exactly one of robots and selector. Membership is captured when the fleet is created; robots that are registered later do not join it by themselves.",
});

/** Body of `POST /v1/fleets/preview`: a selection, and the model or checkpoint to check its robots against. */
export const fleetPreviewSchema = z
  .strictObject({
    ...selectionMembers,
    subject: text(SUBJECT_LENGTH)
      .nullish()
      .describe("A model or checkpoint to check the robots against. Without it, no robot is checked."),
  })
  .refine(isOneWay, ONE_WAY)
  .meta({ id: "FleetPreview", description: "A selection as for a new fleet: exactly one of robots and selector." });
export type FleetPreview = z.output<typeof fleetPreviewSchema>;

export const operatingWindowSchema = z
  .strictObject({ starts_at: dateTime, ends_at: dateTime })
  .meta({ id: "OperatingWindow" });

/** Body of `POST /v1/fleets`. */
export const fleetCreateSchema = z
  .strictObject({
    name: text({ minimum: 1, maximum: 128 }),
    subject: text(SUBJECT_LENGTH).describe(
      "Slug of a model, which refers to its default checkpoint, or id of a checkpoint.",
    ),
    selection: fleetRobotSelectionSchema,
    peak_active_robots: z
      .int()
      .min(PEAK_ACTIVE_ROBOTS.minimum)
      .describe("Maximum number of robots that are active at the same time; not more than the fleet has members."),
    readiness_mode: readinessModeSchema,
    operating_windows: z
      .array(operatingWindowSchema)
      .max(OPERATING_WINDOWS_COUNT.maximum)
      .default([])
      .describe("Required for the mode scheduled, not allowed for the others. Windows must not overlap."),
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
      "Can be deployed now: their endpoint is healthy, and peak_active_robots and the operating windows allow it.",
    ),
    active: count.describe("Have an active deployment of the fleet's checkpoint."),
    waiting: count.describe("All other members."),
    blocked: count.describe("Lack what the model needs, or have no endpoint in their region."),
  })
  .meta({
    id: "FleetRobotCounts",
    description: "registered is the sum of ready, active, waiting and blocked.",
  });

export const fleetModelGenerationViewSchema = z
  .object({
    subject: z.string(),
    generation_id: z.string().describe("Every change of the model creates a new generation."),
    status: z
      .string()
      .describe(
        "preparing: some of its endpoints have never been healthy. active: all of them have been healthy. blocked: no robot of the fleet can run it. More values may be added.",
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
        "pending: some of its endpoints have not been probed since the update was requested. preparing: all have been probed, and some are not healthy. blocked: a person has to do what blocker says. More values may be added. A completed update becomes active_model.",
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
 * The service document allows no other members: the service's tests check that with `.strict()`. Clients ignore unknown members, so
 * that newer services do not break them.
 */
export const fleetViewSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    subject: z.string().describe("Subject of active_model, as it was requested."),
    readiness_mode: readinessModeSchema,
    peak_active_robots: z.int().min(PEAK_ACTIVE_ROBOTS.minimum),
    status: fleetStatusSchema.describe(describeValues(FLEET_STATUS_MEANINGS)),
    blocker: z
      .string()
      .nullish()
      .describe("What a person has to do, in a sentence; null unless the status is blocked."),
    readiness_estimate: readinessEstimateSchema
      .nullish()
      .describe(
        "Estimated seconds until it is ready, from preparations observed so far; null unless it is preparing, and while there are no observations.",
      ),
    robots: fleetRobotCountsSchema,
    active_model: fleetModelGenerationViewSchema.nullish(),
    update: fleetUpdateViewSchema
      .nullish()
      .describe("The update that will replace active_model; null if there is none."),
  })
  .meta({ id: "FleetView" });
export type FleetView = z.output<typeof fleetViewSchema>;

const operation = operationsOf("fleets");

export const createFleet = operation("POST", "/v1/fleets", {
  summary: "Create a robot fleet",
  does: "Creates a fleet that uses the subject, from the 1 to 1000 robots that the selection names or matches now. The service immediately starts to probe the endpoints that the fleet needs. It deploys nothing: each robot requests its own deployment.",
  answers: {
    200: "The new fleet. Its status is preparing, or blocked if a person has to do something first.",
    409: "A fleet with this name exists, or the organization already has 10000 fleets.",
    422: "An input is invalid. This includes a subject that is not in the catalog, a robot that does not exist or is named twice, a selector that matches no robot or more than 1000, a peak_active_robots above the number of members, and operating windows that overlap, are all in the past or do not suit the readiness mode.",
  },
  scopes: ["fleets:write"],
  request: fleetCreateSchema,
  bodyBytes: BODY_BYTES.fleet,
  response: fleetViewSchema,
});

export const listFleets = operation("GET", "/v1/fleets", {
  summary: "List robot fleets",
  does: "Lists the fleets of the organization with their current status.",
  answers: { 200: WHOLE_LIST },
  scopes: ["fleets:read"],
  query: pageQuerySchema,
  response: z.array(fleetViewSchema),
});

export const updateFleetModel = operation("POST", "/v1/fleets/{fleet_id}/model", {
  summary: "Update a fleet model",
  does: "Starts an update of the fleet to the subject, and replaces an update in progress. The fleet keeps its active model until all endpoints of the update have been healthy and no robot would lose its model; then the update becomes the active model. Naming the active subject cancels the update; naming the subject of the update in progress changes nothing.",
  answers: {
    200: "The fleet; its member update shows the progress.",
    422: "An input is invalid, or the subject is not in the catalog.",
  },
  scopes: ["fleets:write"],
  request: fleetModelUpdateSchema,
  bodyBytes: BODY_BYTES.names,
  response: fleetViewSchema,
});

export const reconcileFleet = operation("POST", "/v1/fleets/{fleet_id}/reconcile", {
  summary: "Select the members of a robot fleet again",
  does: "Takes the robots that the selector of the fleet matches now as its members, once. A fleet with named robots only loses those that were removed. If peak_active_robots is more than the fleet then has members, it becomes their number. Deployments stay, and so does an update in progress, which is then judged by the new members. A repeated request changes nothing.",
  answers: { 200: "The fleet with its members.", 409: "The fleet would have no robot, or more than 1000." },
  scopes: ["fleets:write"],
  response: fleetViewSchema,
});

export const removeFleet = operation("DELETE", "/v1/fleets/{fleet_id}", {
  summary: "Delete a robot fleet",
  does: "Deletes a fleet. Its robots and their deployments stay, the service keeps no more capacity for it, and its name is free. Its changes stay in the audit log.",
  answers: { 200: "The fleet, and when it was deleted." },
  scopes: ["fleets:write"],
  response: z.object({ fleet_id: z.string(), removed_at: z.string() }).meta({ id: "FleetRemoved" }),
});

export const getFleet = operation("GET", "/v1/fleets/{fleet_id}", {
  summary: "Get a robot fleet",
  does: "Returns one fleet of the organization with its current status.",
  answers: { 200: "The fleet." },
  scopes: ["fleets:read"],
  response: fleetViewSchema,
});
