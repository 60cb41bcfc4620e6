import * as z from "zod";

import { eachOf, ROBOT_TEXT_NAMES } from "./robot-texts.ts";
import { describeValues } from "./wire/text.ts";

/** The texts of a registration in an answer. Other services, and ours of before, may not know a text. */
export const robotTextMembers = eachOf(ROBOT_TEXT_NAMES, () => z.string().nullable().default(null));

/**
 * A robot as the service document shows it.
 *
 * Our service always sends all members, and those of `identifiedRobotViewSchema`. Other services may leave out the texts and `labels`. Clients ignore unknown members.
 */
export const robotViewSchema = z.object({
  id: z.string().describe("Does not change when the robot registers again."),
  name: z.string(),
  robot_type_id: z.string(),
  region: z.string(),
  /** ISO 8601 date-time. */
  created_at: z.string().describe("When the robot first registered."),
  ...robotTextMembers,
  labels: z
    .record(z.string(), z.string())
    .nullish()
    .transform((labels) => labels ?? {}),
});
export type RobotView = z.output<typeof robotViewSchema>;

/** `online`: the robot's computer sent a heartbeat a short time ago, and is not frozen. */
export const ROBOT_STATUSES = ["online", "offline"] as const;
export type RobotStatus = (typeof ROBOT_STATUSES)[number];

/** What is known of a robot at the moment, for people. `status` has no word for a robot that is not monitored. */
const PRESENCES = ["online", "not_ready", "offline", "not_monitored"] as const;
export type RobotPresence = (typeof PRESENCES)[number];
export const PRESENCE_MEANINGS: Readonly<Record<RobotPresence, string>> = {
  online: "its heartbeats arrive",
  not_ready: "online, but it cannot register",
  offline: "its heartbeats do not arrive",
  not_monitored: "no computer is enrolled, so no heartbeats come; status is then offline",
};

const robotFleetSchema = z
  .object({ id: z.string(), name: z.string(), subject: z.string().describe("Subject of its active model.") })
  .meta({ id: "RobotFleet" });

/** Fleets that the view of a robot names at most. */
export const ROBOT_FLEETS_SHOWN = 100;

/** A robot with what the service observes of its computer. Other services may leave these members out. */
export const identifiedRobotViewSchema = robotViewSchema
  .extend({
    status: z
      .enum(ROBOT_STATUSES)
      .nullable()
      .default(null)
      .describe("online: the last heartbeat is at most 90 seconds old, unless the service is configured otherwise."),
    installation_id: z
      .string()
      .nullable()
      .default(null)
      .describe("The computer that speaks for the robot with a credential of its own; null if none is enrolled."),
    last_seen_at: z.string().nullable().default(null).describe("When the last heartbeat arrived."),
    location: z.unknown().nullable().default(null),
    site_inference: z
      .unknown()
      .nullable()
      .default(null)
      .describe("The region that the computer worked out when it enrolled, and how."),
    presence: z.enum(PRESENCES).nullable().default(null).describe(describeValues(PRESENCE_MEANINGS)),
    not_ready_reason: z.string().nullable().default(null).describe("Why the robot is not_ready; null otherwise."),
    fleets: z
      .array(robotFleetSchema)
      .optional()
      .describe(
        `Fleets that the robot is a member of, by name, at most ${ROBOT_FLEETS_SHOWN}. Only in the answer with this robot alone, for a credential that may see fleets.`,
      ),
  })
  .meta({ id: "RobotView" });
export type IdentifiedRobotView = z.output<typeof identifiedRobotViewSchema>;

/** Answer of `POST /v1/robots/setup`, as far as a robot computer keeps it. */
export const robotSetupAnswerSchema = z.object({ robot: robotViewSchema });

/** The same with everything our service says. */
export const identifiedSetupAnswerSchema = z
  .object({ robot: identifiedRobotViewSchema })
  .meta({ id: "RobotSetupAnswer" });

/** Answer of `GET /v1/robots`, as far as the document shows it. */
export const robotListSchema = z.array(robotViewSchema);

export const identifiedRobotListSchema = z.array(identifiedRobotViewSchema);
