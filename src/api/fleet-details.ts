import * as z from "zod";

import { ENDPOINT_STATUSES, nullableText, time } from "./endpoints.ts";
import { fleetPreviewSchema } from "./fleets.ts";
import { ROBOT_STATUSES } from "./robot-views.ts";
import { BODY_BYTES } from "./wire/body-bytes.ts";
import { operationsOf } from "./wire/operation.ts";
import { pageQuerySchema, WHOLE_LIST } from "./wire/pages.ts";

export const FLEET_MEMBER_STATES = ["ready", "active", "waiting", "blocked"] as const;
export const SELECTION_KINDS = ["robots", "selector"] as const;

/** Maximum number of generations in the details: the newest, and always the active one. */
export const GENERATIONS_SHOWN = { maximum: 100 } as const;

export const warningsSchema = z
  .array(z.string())
  .optional()
  .describe(
    "How the robot differs from those that the checkpoint was trained on, where the catalog has it said, a sentence each. Absent without any.",
  );

/** Which robot it is, and where. */
const robotFacts = {
  robot_id: z.string(),
  robot: z.string().describe("Name of the robot."),
  robot_type_id: z.string(),
  region: z.string(),
  site: nullableText,
};

export const fleetMemberViewSchema = z
  .object({
    ...robotFacts,
    state: z.enum(FLEET_MEMBER_STATES).describe("Same values as in the robot counts of the fleet."),
    waiting_for: z
      .enum(["endpoint", "window", "peak", "robot"])
      .nullable()
      .describe(
        "What a waiting robot waits for: its endpoint, the fleet's operating window, peak_active_robots, or the robot itself, which is offline. Null in the other states.",
      ),
    warnings: warningsSchema,
    reason: nullableText.describe("Why the robot is not ready, in one sentence; null if nothing prevents it."),
    status: z
      .enum(ROBOT_STATUSES)
      .optional()
      .describe("As in the view of the robot. Absent for a robot without an enrolled computer."),
  })
  .meta({ id: "FleetMemberView" });
export type FleetMemberView = z.output<typeof fleetMemberViewSchema>;

export const fleetGenerationViewSchema = z
  .object({
    generation_id: z.string(),
    subject: z.string(),
    checkpoint_id: z.string().describe("What the subject referred to when the generation was requested."),
    status: z
      .string()
      .describe(
        "For active_model and update, the same status as in the fleet view. superseded: another generation replaced it. More values may be added.",
      ),
    created_at: time,
    activated_at: time
      .nullable()
      .describe("When all of its endpoints were healthy for the first time; null if they never were."),
    blocker: nullableText.describe("What a person has to do, in a sentence; null unless the status is blocked."),
  })
  .meta({ id: "FleetGenerationView" });
export type FleetGenerationView = z.output<typeof fleetGenerationViewSchema>;

export const fleetEndpointViewSchema = z
  .object({
    generation_id: z.string().describe("The generation that needs the endpoint."),
    region: z.string(),
    status: z.enum(ENDPOINT_STATUSES).describe("unknown: the probes have no result yet."),
    since: time.nullable().describe("When the endpoint got this status; null while unknown."),
    checked_at: time.nullable().describe("When it was last probed."),
    detail: nullableText.describe("Why the last probe failed; null if it did not fail."),
  })
  .meta({ id: "FleetEndpointView" });
export type FleetEndpointView = z.output<typeof fleetEndpointViewSchema>;

/** All filters of a selector. Readers ignore filters that are added later. */
const selectorViewSchema = z.object({
  site: nullableText,
  region: nullableText,
  robot_type_id: nullableText,
  labels: z.record(z.string(), z.string()),
});

/** How the members of a fleet are selected. */
export const fleetSelectionViewSchema = z
  .object({
    kind: z
      .enum(SELECTION_KINDS)
      .describe("robots: the request named the robots. selector: the robots matched the selector."),
    selector: selectorViewSchema.nullable().describe("Null for the kind robots."),
  })
  .meta({ id: "FleetSelectionView" });
export type FleetSelectionView = z.output<typeof fleetSelectionViewSchema>;

/** A problem that needs attention: what it is and what to do, one sentence each. */
export const fleetNeedSchema = z
  .object({
    reason: z.string().describe("What the problem is."),
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
    robot: count.default(0).describe("The robot itself is offline."),
  })
  .meta({ id: "WaitingCounts", description: "The waiting robots, each counted once." });
export type WaitingCounts = z.output<typeof waitingCountsSchema>;

export const fleetNeedsSchema = z
  .object({
    fleet_id: z.string(),
    needs: z
      .array(fleetNeedSchema)
      .describe(
        "Problems that need attention, most urgent first; may be empty. The fleet or its update is blocked, robots do not meet the model's requirements, an endpoint that was healthy fails, or an endpoint fails for longer than a preparation takes.",
      ),
    waiting: waitingCountsSchema,
  })
  .meta({ id: "FleetNeeds" });
export type FleetNeeds = z.output<typeof fleetNeedsSchema>;

/** Answer of `GET /v1/fleets/{fleet_id}/details`: why a fleet has its status. */
export const fleetDetailsSchema = z
  .object({
    created_at: time,
    updated_at: time.nullable().describe("When the fleet's model was last changed; null if it was never changed."),
    operating_windows: z.array(z.object({ starts_at: time, ends_at: time })).describe("Sorted by time, in UTC."),
    selection: fleetSelectionViewSchema.describe("How the members of the fleet were selected."),
    generations: z
      .array(fleetGenerationViewSchema)
      .describe("At most 100, newest first. The active generation is always included."),
    members: z.array(fleetMemberViewSchema).describe("In the order of registration."),
    endpoints: z
      .array(fleetEndpointViewSchema)
      .describe("Endpoints of the active model and of the update, in the regions of the fleet's robots."),
    needs: z.array(fleetNeedSchema).describe("Problems that need attention, most urgent first."),
    waiting: waitingCountsSchema.describe("What the waiting robots wait for."),
  })
  .meta({ id: "FleetDetails" });
export type FleetDetails = z.output<typeof fleetDetailsSchema>;

export const previewedRobotSchema = z
  .object({
    ...robotFacts,
    fits: z
      .boolean()
      .nullable()
      .describe("Whether the robot meets the requirements of the subject; null if no subject was given."),
    warnings: warningsSchema,
    reason: nullableText.describe(
      "What the robot lacks. If it fits: why it cannot run the subject now, because its endpoint is not healthy.",
    ),
  })
  .meta({ id: "PreviewedRobot" });
export type PreviewedRobot = z.output<typeof previewedRobotSchema>;

/** Answer of `POST /v1/fleets/preview`. */
export const fleetPreviewedSchema = z
  .object({
    robots: z.array(previewedRobotSchema),
    total: z.int().min(0).describe("Number of robots. The list contains all of them."),
  })
  .meta({ id: "FleetPreviewed" });
export type FleetPreviewed = z.output<typeof fleetPreviewedSchema>;

const robots = z.array(z.object(robotFacts).meta({ id: "FleetRobot" }));

/** Answer of `GET /v1/fleets/{fleet_id}/reconcile`. */
export const fleetMemberChangesSchema = z
  .object({
    joining: robots.describe("Robots that match the selector of the fleet and are not members, oldest first."),
    leaving: robots.describe("Members that were removed or do not match the selector any more, oldest first."),
    registered: count.describe("Members of the fleet afterwards."),
    peak_active_robots: count.describe("As it would be afterwards: not more than the fleet has members."),
  })
  .meta({ id: "FleetMemberChanges" });
export type FleetMemberChanges = z.output<typeof fleetMemberChangesSchema>;

const operation = operationsOf("fleets");

export const previewReconcile = operation("GET", "/v1/fleets/{fleet_id}/reconcile", {
  summary: "Show which robots would join and leave a robot fleet",
  does: "Shows what reconciling the fleet would change now. Changes nothing.",
  answers: {
    200: "Who would join and leave. Both lists are empty if nothing would change.",
    409: "The fleet would have no robot, or more than 1000.",
  },
  scopes: ["fleets:read"],
  response: fleetMemberChangesSchema,
});

export const getFleetDetails = operation("GET", "/v1/fleets/{fleet_id}/details", {
  summary: "Explain the status of a robot fleet",
  does: "Returns what the fleet view summarizes: each member and why it is not ready, the generations of the fleet's model, the operating windows, how the members were selected, and the endpoints.",
  answers: { 200: "The current details of the fleet." },
  scopes: ["fleets:read"],
  response: fleetDetailsSchema,
});

export const listFleetNeeds = operation("GET", "/v1/me/fleet-needs", {
  summary: "List what needs attention in robot fleets",
  does: "Lists, for each fleet of the organization, what needs attention and what its waiting robots wait for, in the order of the fleets.",
  answers: { 200: WHOLE_LIST },
  scopes: ["fleets:read"],
  query: pageQuerySchema,
  response: z.object({ items: z.array(fleetNeedsSchema) }).meta({ id: "FleetNeedsList" }),
});

export const previewFleet = operation("POST", "/v1/fleets/preview", {
  summary: "Show which robots a fleet would have",
  does: "Shows which robots a fleet with this selection would have if it were created now and, if a subject is given, which of them could run it. Creates nothing.",
  answers: {
    200: "The robots, in the order of the request for named robots, otherwise in the order of registration.",
    422: "An input is invalid. This includes a subject that is not in the catalog, a robot that does not exist or is named twice, and a selector that matches no robot or more than 1000.",
  },
  scopes: ["robots:read"],
  request: fleetPreviewSchema,
  bodyBytes: BODY_BYTES.fleet,
  response: fleetPreviewedSchema,
});
