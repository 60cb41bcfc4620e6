/** The parts of a robot's digest, what changed between registrations, and how robots differ. */
import * as z from "zod";

import { CONFIGURATION_DIGEST_PATTERN } from "./robots.ts";
import { BODY_BYTES } from "./wire/body-bytes.ts";
import { operationsOf } from "./wire/operation.ts";
import { text } from "./wire/text.ts";

/** Entries of a manifest, and the files that its patterns stand for. */
export const PARTS = { minimum: 0, maximum: 576 } as const;
/** UTF-8 bytes of a file whose content is shared. */
export const SHARED_CONTENT_BYTES = 262_144;
const SHA256 = /^[0-9a-f]{64}$/;

export const PART_KINDS = ["file", "device", "pattern"] as const;

export const registrationPartSchema = z
  .object({
    label: text({ minimum: 1, maximum: 4096 }).describe("Label in the manifest, or else the path."),
    kind: z
      .enum(PART_KINDS)
      .describe("pattern: a file that a pattern of the manifest stands for. device: also an interface."),
    sha256: text({ pattern: SHA256 }).describe("SHA-256 of the file, or of the line of a device, in hex."),
    bytes: z.int().min(0).describe("Size of what was hashed."),
    line: text({ maximum: 4096 }).nullish().describe("Of a device: what was hashed, canonical JSON (RFC 8785)."),
    shared: z
      .boolean()
      .default(false)
      .describe("Whether the robot may send the content, because its manifest says so."),
  })
  .meta({ id: "RegistrationPart" });
/** One thing that a configuration digest covers. */
export type RegistrationPart = z.output<typeof registrationPartSchema>;

/** Body of `PUT /v1/robots/{robot}/registration/parts`. */
export const registrationPartsSchema = z
  .object({
    configuration_digest: text({ pattern: CONFIGURATION_DIGEST_PATTERN }).describe(
      "The digest that these parts make: SHA-256 of their hashes, one a line.",
    ),
    parts: z
      .array(registrationPartSchema)
      .min(PARTS.minimum)
      .max(PARTS.maximum)
      .describe("In the order of the digest."),
  })
  .meta({ id: "RegistrationParts" });
export type RegistrationParts = z.output<typeof registrationPartsSchema>;

/** Answer of the same. */
export const partsRecordedSchema = z
  .object({
    missing: z.array(z.string()).describe("SHA-256 of each shared content that the service does not have yet."),
  })
  .meta({ id: "PartsRecorded" });

/** Body of `PUT /v1/robots/{robot}/contents/{sha256}`. */
export const sharedContentSchema = z
  .object({ text: text({ maximum: SHARED_CONTENT_BYTES }).describe("The whole file, which is UTF-8.") })
  .meta({ id: "SharedContent" });
export type SharedContent = z.output<typeof sharedContentSchema>;

/** What a difference is about: a member of the registration, one of its labels, a part of its digest, or its contract. */
export const DIFFERENCE_GROUPS = ["member", "label", "part", "contract"] as const;

export const differenceSchema = z
  .object({
    group: z.enum(DIFFERENCE_GROUPS),
    subject: z
      .string()
      .describe(
        "Name of the member or label; label of the part; where in the contract, such as `action_axes arm.elbow.position`.",
      ),
    change: z.enum(["changed", "added", "removed", "moved"]),
    part_kind: z.enum(PART_KINDS).nullable().describe("Of a part."),
    before: z.string().nullable().describe("The value before, of a member, a label, or a hash; null for none."),
    after: z.string().nullable(),
    details: z
      .array(z.string())
      .readonly()
      .describe(
        "What differs inside, a sentence or line each: key paths of JSON and YAML, lines of other texts, facts of a device.",
      ),
    omitted: z.int().min(0).describe("Number of further details."),
    content: z
      .enum(["compared", "not_shared", "not_kept"])
      .nullable()
      .describe(
        "Of a file: not_shared: the manifest does not share its content. not_kept: the service does not have it (any more).",
      ),
  })
  .meta({ id: "RegistrationDifference" });
/** One difference between two registrations. */
export type Difference = z.output<typeof differenceSchema>;

const sideSchema = z.object({
  robot_id: z.string(),
  robot: z.string(),
  registration_id: z.string(),
  at: z.string(),
  configuration_digest: z.string(),
});

/** Answer of `GET /v1/robots/{robot}/differences`. */
export const differencesSchema = z
  .object({
    before: sideSchema.nullable().describe("Null if no registration before is kept; then nothing is compared."),
    after: sideSchema,
    parts: z
      .enum(["compared", "not_known"])
      .describe(
        "not_known: one of the robots did not say what its digest covers; then only members, labels and contracts are compared.",
      ),
    differences: z.array(differenceSchema),
  })
  .meta({ id: "RegistrationDifferences" });
export type Differences = z.output<typeof differencesSchema>;

export const differencesQuerySchema = z.object({
  registration: text({ maximum: 64 })
    .optional()
    .describe("Id of a registration of the robot, from its history. Without it: the last one."),
  against: text({ maximum: 128 })
    .optional()
    .describe(
      "What it is compared with: the id of a registration, or a robot, of which the last one. Without it: the registration before.",
    ),
});
export type DifferencesQuery = z.output<typeof differencesQuerySchema>;

const outlierSchema = z.object({
  robot_id: z.string(),
  robot: z.string(),
  what: z.string().describe("What it has instead: `none`, a hash, a value, the model of a device."),
});

export const fleetPartSchema = z
  .object({
    group: z.enum(DIFFERENCE_GROUPS),
    subject: z.string(),
    part_kind: z.enum(PART_KINDS).nullable(),
    equal: z
      .int()
      .min(0)
      .describe("How many members have the most frequent value, or none of it where most have none."),
    most: z.string().nullable().describe("That value, or `none`; null where no value is that of most."),
    typical: z.string().nullable().describe("A member that has it, to compare others with; null as well."),
    values: z.int().min(1).describe("How many different values there are."),
    outliers: z
      .array(outlierSchema)
      .describe(
        "The members with another value than most. Empty where no value is that of most: each robot has its own.",
      ),
    omitted: z.int().min(0).describe("Number of further outliers."),
  })
  .meta({ id: "FleetPart" });

/** Answer of `GET /v1/fleets/{fleet_id}/differences`. */
export const fleetDifferencesSchema = z
  .object({
    members: z.int().min(0),
    unknown: z.array(z.string()).describe("Names of members that did not say what their digest covers."),
    parts: z.array(fleetPartSchema).describe("What is not equal on all members; outliers first."),
    equal_parts: z.int().min(0).describe("Number of parts that are equal on all."),
  })
  .meta({ id: "FleetDifferences" });
export type FleetDifferences = z.output<typeof fleetDifferencesSchema>;

const robotOperation = operationsOf("robots");

export const putRegistrationParts = robotOperation("PUT", "/v1/robots/{robot}/registration/parts", {
  summary: "Say what the digest of a registration covers",
  does: "Records the parts of the configuration digest of the robot's last registration, so that a change can be found by name. Sent once after each registration; a registration without it is as good.",
  answers: {
    200: "The parts are recorded; contents that are shared and missing may be sent.",
    409: "The robot's last registration has another digest.",
    422: "An input is invalid. This includes parts that do not make the digest.",
  },
  scopes: ["robots:setup", "robots:self"],
  request: registrationPartsSchema,
  bodyBytes: BODY_BYTES.parts,
  response: partsRecordedSchema,
});

export const putSharedContent = robotOperation("PUT", "/v1/robots/{robot}/contents/{sha256}", {
  summary: "Send a configuration file that the robot shares",
  does: "Stores the content of a part that the robot's last registration says it shares. The service keeps each content once, for as long as a registration in a history names it.",
  answers: {
    200: "The content is stored.",
    409: "No part of the robot's last registration shares a content with this hash, or the organization has as much shared content as it may.",
    422: "An input is invalid. This includes a content with another hash, and one that looks like a secret.",
  },
  scopes: ["robots:setup", "robots:self"],
  request: sharedContentSchema,
  bodyBytes: BODY_BYTES.content,
  response: z.object({}).meta({ id: "ContentStored" }),
});

export const getRobotDifferences = robotOperation("GET", "/v1/robots/{robot}/differences", {
  summary: "Compare two registrations",
  does: "Compares a registration of a robot with the one before it, with another of its history, or with the last one of another robot: type, region, site, labels, contract, and what the digest covers.",
  answers: {
    200: "What differs; nothing for equal registrations.",
    404: "The robot or the registration does not exist, or is not kept any more.",
  },
  scopes: ["robots:read"],
  query: differencesQuerySchema,
  response: differencesSchema,
});

export const getFleetDifferences = operationsOf("fleets")("GET", "/v1/fleets/{fleet_id}/differences", {
  summary: "Compare the robots of a fleet",
  does: "Compares the last registrations of all members, part by part: what most of them have, and which have something else.",
  answers: { 200: "What is not equal on all members." },
  scopes: ["fleets:read"],
  response: fleetDifferencesSchema,
});
