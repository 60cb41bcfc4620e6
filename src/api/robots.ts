import * as z from "zod";

import { isContractOfType, sentContractSchema } from "./contract.ts";
import { eachOf, ROBOT_TEXT_NAMES, ROBOT_TEXTS } from "./robot-texts.ts";
import {
  identifiedRobotListSchema,
  identifiedRobotViewSchema,
  identifiedSetupAnswerSchema,
  ROBOT_STATUSES,
} from "./robot-views.ts";
import { BODY_BYTES } from "./wire/body-bytes.ts";
import { operationsOf } from "./wire/operation.ts";
import { pageQuerySchema, WHOLE_LIST } from "./wire/pages.ts";
import { codePoints, text } from "./wire/text.ts";

/** Bounds of the service document, in code points. */
export const ROBOT_NAME_LENGTH = { minimum: 1, maximum: 64 } as const;
export const ROBOT_TYPE_ID_LENGTH = { minimum: 1, maximum: 256 } as const;
export const CONFIGURATION_DIGEST_PATTERN = /^sha256:[0-9a-f]{64}$/;

/** Our own bounds where the service document gives none: generous, but everything stored must have a bound. */
export const REGION_LENGTH = { maximum: 256 } as const;
/** All names and values together, because every list of robots contains them. */
const LABELS_LENGTH = { maximum: 16_384 } as const;

/** Labels of robots, at most `maximum`: key-value pairs that selectors of fleets match on. */
export function labelsSchema(maximum: number) {
  return z
    .record(text({ maximum: 256 }), text({ maximum: 1024 }))
    .check((context) => {
      if (Object.keys(context.value).length <= maximum) return;
      context.issues.push({ code: "too_big", origin: "map", maximum, inclusive: true, input: context.value });
    })
    .refine(
      (labels) => lengthOf(labels) <= LABELS_LENGTH.maximum,
      `labels have at most ${LABELS_LENGTH.maximum} characters altogether`,
    )
    .meta({ maxProperties: maximum });
}

function lengthOf(labels: Readonly<Record<string, string>>): number {
  return Object.entries(labels).reduce((sum, [name, value]) => sum + codePoints(name) + codePoints(value), 0);
}

/** Body of `POST /v1/robots/setup`: registers one physical robot, or replaces its registration. */
export const robotSetupSchema = z
  .object({
    name: text(ROBOT_NAME_LENGTH).describe("Unique stable name for one physical robot."),
    robot_type_id: text(ROBOT_TYPE_ID_LENGTH).describe(
      "Type id from the ready robot catalog or from a validated custom manifest.",
    ),
    region: text(REGION_LENGTH).describe("Cloud region code nearest the physical robot."),
    configuration_digest: text({ pattern: CONFIGURATION_DIGEST_PATTERN }).meta({
      description: "Ordered SHA-256 digest of the local robot configuration files.",
      pattern: "^sha256:[0-9a-f]{64}$",
    }),
    /** Null and absent mean the same: existing clients send null. */
    ...eachOf(ROBOT_TEXT_NAMES, (name) => {
      const { length, description } = ROBOT_TEXTS[name];
      return text(length).nullish().describe(description);
    }),
    labels: labelsSchema(256).nullish().describe("Labels used to select fleet members. Null and absent mean none."),
    contract: sentContractSchema.nullish().describe("Normalized contract from a validated custom robot manifest."),
    /** Beyond the service document. */
    confirm_replace: z
      .boolean()
      .nullish()
      .describe(
        "True to replace the computer of a robot that is online with a credential of its own. Without effect for other robots.",
      ),
  })
  .refine(isContractOfType, {
    path: ["contract", "robot_type_id"],
    error: "must be the robot_type_id that is registered",
  })
  .meta({
    id: "RobotSetup",
    description: "A one-time or replacement installation request sent from a robot computer.",
  });
export type RobotSetupRequest = z.output<typeof robotSetupSchema>;

/** What a robot is registered as. */
export type RobotSetup = Omit<RobotSetupRequest, "confirm_replace">;

/** Query of the list of robots. */
export const robotsQuerySchema = pageQuerySchema.extend({
  status: z.enum(ROBOT_STATUSES).optional().describe("Only robots with this status."),
});
export type RobotsQuery = z.output<typeof robotsQuerySchema>;

const operation = operationsOf("robots");

export const setupRobot = operation("POST", "/v1/robots/setup", {
  summary: "Register a robot",
  does: "Registers a robot, or replaces the registration of the robot with this name. A replacement keeps id and created_at and sets everything else from this request; members that the request omits are cleared. The robot stays a member of its fleets. If its type, region or contract changed, its deployments and fleets are evaluated again. If the robot's computer has a credential of its own, a setup by anyone else replaces that computer: its credential ends.",
  answers: {
    200: "The registered robot.",
    403: "The credential lacks the scope robots:setup, or it is a key that is restricted to other robot names, or it would replace the computer of a robot and lacks robots:write.",
    409: "The robot is online with a credential of its own, and confirm_replace is not true (reason robot_online). Or the organization has reached its limit of robots, or the key its limit of new robots. Existing robots can still register again.",
  },
  scopes: ["robots:setup", "robots:self"],
  request: robotSetupSchema,
  bodyBytes: BODY_BYTES.registration,
  response: identifiedSetupAnswerSchema,
});

export const listRobots = operation("GET", "/v1/robots", {
  summary: "List robots",
  does: "Lists the robots of the organization, without their contracts and digests. presence tells whether the computer of an enrolled robot reports, and whether the robot can register; last_seen_at may be half a minute behind.",
  answers: { 200: WHOLE_LIST },
  scopes: ["robots:read"],
  query: robotsQuerySchema,
  response: identifiedRobotListSchema,
});

export const getRobot = operation("GET", "/v1/robots/{robot}", {
  summary: "Get a robot by its name or id",
  does: "Returns one robot of the organization.",
  answers: { 200: "The robot." },
  scopes: ["robots:read", "robots:self"],
  response: identifiedRobotViewSchema,
});

export const robotRemovedSchema = z
  .object({ robot_id: z.string(), removed_at: z.string() })
  .meta({ id: "RobotRemoved" });
export type RobotRemoved = z.output<typeof robotRemovedSchema>;

export const removeRobot = operation("DELETE", "/v1/robots/{robot}", {
  summary: "Remove a robot",
  does: "Removes a robot: its computer loses its credential, its current deployment is retired, and its name is free for another robot. Fleets keep it as a blocked member; its usage stays, as does its history, at its id.",
  answers: { 200: "The robot, and when it was removed." },
  scopes: ["robots:write"],
  response: robotRemovedSchema,
});

/** Body of `PATCH /v1/robots/{robot}`. */
export const robotChangeSchema = z
  .object({
    name: text(ROBOT_NAME_LENGTH).describe(
      "The new name: 1 to 64 lower-case letters, digits and hyphens, with a letter or digit first and last.",
    ),
  })
  .meta({ id: "RobotChange" });
export type RobotChange = z.output<typeof robotChangeSchema>;

export const renameRobot = operation("PATCH", "/v1/robots/{robot}", {
  summary: "Rename a robot",
  does: "Gives a robot another name. Its id, the computer that speaks for it, its deployments and its fleets stay. Its agent needs the new name, too: a computer registers only under the name of its robot. Keys that are restricted to robot names are not changed.",
  answers: {
    200: "The robot.",
    409: "Another robot has this name.",
  },
  scopes: ["robots:write"],
  request: robotChangeSchema,
  bodyBytes: BODY_BYTES.names,
  response: identifiedRobotViewSchema,
});
