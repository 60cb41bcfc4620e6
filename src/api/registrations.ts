import * as z from "zod";

import type { Operation } from "./wire/operation.ts";
import { pageQuerySchema } from "./wire/pages.ts";

/** ISO 8601 date-time. */
const moment = z.string();
const nullableText = z.string().nullable();
const actorSchema = z.object({ id: z.string(), label: nullableText });

/** Registrations that a robot's history shows at most: the newest. */
export const HISTORY_SHOWN = { maximum: 200 } as const;

/** Members of a registration that may change from one to the next. */
export const REGISTRATION_MEMBERS = [
  "configuration_digest",
  "robot_type_id",
  "region",
  "site",
  "labels",
  "contract",
] as const;

const registrationMembers = {
  robot_id: z.string(),
  robot: z.string().describe("Its name."),
  configuration_digest: z.string(),
  changed_at: moment.describe("When anything in it last became other than before."),
  registered_at: moment.describe("When the robot last registered, changed or not."),
  contested_since: moment
    .nullable()
    .describe(
      "Since when two computers register this name in turn, each replacing what the other registered; null when none was seen to do so for two days.",
    ),
};

/** What a robot registered with last, as far as a list shows it. */
export const registrationSummarySchema = z.object(registrationMembers).meta({ id: "RegistrationSummary" });

export type RegistrationSummary = z.output<typeof registrationSummarySchema>;

/** Answer of `GET /v1/me/registrations`. */
export const registrationListSchema = z
  .object({ items: z.array(registrationSummarySchema) })
  .meta({ id: "RegistrationList" });

/** Answer of `GET /v1/robots/{robot}/registration`: everything the robot registered with last. */
export const registrationViewSchema = z
  .object({
    ...registrationMembers,
    robot_type_id: z.string(),
    region: z.string(),
    site: nullableText,
    labels: z.record(z.string(), z.string()),
    contested_from: z
      .array(z.object({ address: z.string(), actor: actorSchema }))
      .describe(
        "From where the name is registered in turn, newest first: address of the client, and the credential with the label of its key. Empty while it is not contested.",
      ),
    contract: z.record(z.string(), z.unknown()).nullable().describe("As it was sent; null where there was none."),
  })
  .meta({ id: "RegistrationView" });

export type RegistrationView = z.output<typeof registrationViewSchema>;

export const registrationRecordSchema = z
  .object({
    at: moment,
    configuration_digest: z.string(),
    changed: z
      .array(z.string())
      .nullable()
      .describe(
        "Members that are other than in the registration before: configuration_digest, robot_type_id, region, site, labels, contract. Null where that is not known.",
      ),
    robot_type_id: z.string(),
    region: z.string(),
    site: nullableText,
    actor: actorSchema.describe("Credential that sent it. label: of the key; null for a session."),
    address: z.string().describe("Of the client that sent it; behind a trusted proxy, the one it names."),
    contested: z
      .boolean()
      .describe(
        "Whether it restored what another computer had replaced, as contested_since of the registration tells.",
      ),
  })
  .meta({ id: "RegistrationRecord", description: "One registration." });

export type RegistrationRecord = z.output<typeof registrationRecordSchema>;

/** Answer of `GET /v1/robots/{robot}/history`. */
export const robotHistorySchema = z.object({ items: z.array(registrationRecordSchema) }).meta({ id: "RobotHistory" });

export const getRegistration = {
  summary: "Get what a robot registered with last",
  tag: "robots",
  method: "GET",
  path: "/v1/robots/{robot}/registration",
  // A robot asks with the key it registers with whether the service still holds its registration.
  scopes: ["robots:read", "robots:setup"],
  request: null,
  response: registrationViewSchema,
} as const satisfies Operation;

export const getRobotHistory = {
  summary: "Get the registrations of a robot",
  tag: "robots",
  method: "GET",
  path: "/v1/robots/{robot}/history",
  scopes: ["robots:read"],
  request: null,
  response: robotHistorySchema,
} as const satisfies Operation;

export const listRegistrations = {
  summary: "List what robots registered with last",
  tag: "robots",
  method: "GET",
  path: "/v1/me/registrations",
  scopes: ["robots:read"],
  query: pageQuerySchema,
  request: null,
  response: registrationListSchema,
} as const satisfies Operation;
