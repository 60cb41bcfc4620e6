import * as z from "zod";

import { differenceSchema } from "./differences.ts";
import { ROBOT_TEXT_NAMES } from "./robot-texts.ts";
import { robotTextMembers } from "./robot-views.ts";
import { operationsOf } from "./wire/operation.ts";
import { pageQuerySchema, WHOLE_LIST } from "./wire/pages.ts";

/** ISO 8601 date-time. */
const time = z.string();
const nullableText = z.string().nullable();
const actorSchema = z.object({ id: z.string(), label: nullableText });
const ACTOR_OF_REQUEST =
  "Credential of the request. label: label of the key, or of the key with which the session was created; name of the robot whose own computer it is.";
const ADDRESS_OF_CLIENT = "Address of the client; behind a trusted proxy, the address that the proxy reports.";

/** Registrations that are kept of a robot: the newest that changed something. */
export const HISTORY_KEPT = 100;

/** Members that may differ between two registrations. */
export const REGISTRATION_MEMBERS = [
  "configuration_digest",
  "robot_type_id",
  "region",
  ...ROBOT_TEXT_NAMES,
  "labels",
  "contract",
] as const;

const registrationMembers = {
  robot_id: z.string(),
  robot: z.string().describe("Name of the robot."),
  configuration_digest: z.string(),
  changed_at: time.describe("When a registration last changed anything."),
  registered_at: time.describe("When the robot last registered, with or without a change."),
  contested_since: time
    .nullable()
    .describe(
      "Since when two computers have been registering this name in turn, each replacing the other's registration; null if that has not happened for two days.",
    ),
};

/** The part of a robot's last registration that a list shows. */
export const registrationSummarySchema = z.object(registrationMembers).meta({ id: "RegistrationSummary" });
export type RegistrationSummary = z.output<typeof registrationSummarySchema>;

/** Answer of `GET /v1/me/registrations`. */
export const registrationListSchema = z
  .object({ items: z.array(registrationSummarySchema) })
  .meta({ id: "RegistrationList" });

/** A registration that was refused. */
export const refusalSchema = z
  .object({
    at: time,
    status: z.int().describe("HTTP status of the answer."),
    detail: z.string().describe("Reason in the answer. For invalid inputs, their locations and messages."),
    actor: actorSchema.describe(ACTOR_OF_REQUEST),
    address: z.string().describe(ADDRESS_OF_CLIENT),
    request_id: z.string(),
  })
  .meta({ id: "Refusal" });
export type RefusalView = z.output<typeof refusalSchema>;

/** Answer of `GET /v1/robots/{robot}/registration`: the whole last registration. */
export const registrationViewSchema = z
  .object({
    ...registrationMembers,
    robot_type_id: z.string(),
    region: z.string(),
    ...robotTextMembers,
    labels: z.record(z.string(), z.string()),
    contested_from: z
      .array(z.object({ address: z.string(), actor: actorSchema }))
      .describe(
        "The clients that register this name in turn, newest first: their addresses and their credentials, with the label of the key. Empty while the name is not contested.",
      ),
    last_refusal: refusalSchema
      .nullable()
      .default(null)
      .describe(
        "Why the newest registration of this robot was refused, if none was accepted since; null otherwise. It appears within seconds. A request that was refused before its body was read names no robot.",
      ),
    contract: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe("The contract as it was sent; null if there was none."),
    parts_recorded: z
      .boolean()
      .optional()
      .describe("Whether the robot has said what its digest covers; a robot that has not says it again."),
  })
  .meta({ id: "RegistrationView" });
export type RegistrationView = z.output<typeof registrationViewSchema>;

export const registrationRecordSchema = z
  .object({
    registration_id: z.string(),
    at: time,
    configuration_digest: z.string(),
    changed: z
      .array(z.string())
      .nullable()
      .describe(
        `Members that differ from the previous registration: ${REGISTRATION_MEMBERS.join(", ")}. Null if that is not known.`,
      ),
    differences: z
      .array(differenceSchema)
      .default([])
      .describe("The same by name, but for what is in files. Empty for the first registration on record."),
    robot_type_id: z.string(),
    region: z.string(),
    ...robotTextMembers,
    actor: actorSchema.describe(ACTOR_OF_REQUEST),
    address: z.string().describe(ADDRESS_OF_CLIENT),
    contested: z
      .boolean()
      .describe(
        "Whether this registration restored what another computer had replaced (see contested_since of the registration).",
      ),
  })
  .meta({ id: "RegistrationRecord", description: "A registration that changed something." });
export type RegistrationRecord = z.output<typeof registrationRecordSchema>;

const operation = operationsOf("robots");

export const getRegistration = operation("GET", "/v1/robots/{robot}/registration", {
  summary: "Get the last registration of a robot",
  does: "Returns everything in the robot's last registration, and its time. A robot uses this to check whether the service still has what it sent.",
  answers: { 200: "The registration." },
  // A robot checks with its robots:setup key whether the service still has its registration.
  scopes: ["robots:read", "robots:setup", "robots:self"],
  response: registrationViewSchema,
});

export const getRobotHistory = operation("GET", "/v1/robots/{robot}/history", {
  summary: "Get the registrations of a robot",
  does: "Lists the registrations of a robot that changed something, from the audit log. Entries older than the retention period of the log are deleted.",
  answers: { 200: `The newest ${HISTORY_KEPT}, newest first.` },
  scopes: ["robots:read"],
  response: z.object({ items: z.array(registrationRecordSchema) }).meta({ id: "RobotHistory" }),
});

export const listRegistrations = operation("GET", "/v1/me/registrations", {
  summary: "List the last registrations of robots",
  does: "Lists the configuration digest of each robot of the organization and when its registration last changed, in the order of the robots.",
  answers: { 200: WHOLE_LIST },
  scopes: ["robots:read"],
  query: pageQuerySchema,
  response: registrationListSchema,
});
