import * as z from "zod";

import { isContractOfType, sentContractSchema } from "./contract.ts";
import { ROBOT_TEXTS } from "./robot-texts.ts";
import { identifiedRobotViewSchema } from "./robot-views.ts";
import {
  CONFIGURATION_DIGEST_PATTERN,
  labelsSchema,
  REGION_LENGTH,
  ROBOT_NAME_LENGTH,
  ROBOT_TYPE_ID_LENGTH,
} from "./robots.ts";
import { BODY_BYTES } from "./wire/body-bytes.ts";
import { operationsOf } from "./wire/operation.ts";
import { text } from "./wire/text.ts";

/** Characters of a code that a person types, as approval accepts it; ours are `XXXX-XXXX`. */
export const USER_CODE_LENGTH = { minimum: 1, maximum: 16 } as const;
/** The raw 32 bytes of an Ed25519 public key are 43 characters of base64url; longer spellings are judged when they are decoded. */
export const PUBLIC_KEY_LENGTH = { minimum: 32, maximum: 256 } as const;
export const ENROLMENT_LABELS_COUNT = { maximum: 32 } as const;

/** Length of the JSON text. */
const SITE_INFERENCE_BYTES = { maximum: 16_384 } as const;

/** Cloud regions as clients of this wire know them. */
const CLOUD_REGION_PATTERN =
  /^(?:af|ap|ca|eu|il|me|mx|sa|us)-(?:central|east|north|northeast|northwest|south|southeast|southwest|west)-[1-9]$/;

/** Where a computer believes it stands. Stored and shown as sent, without `geolocation.ip`. */
export const siteInferenceSchema = z
  .looseObject({
    /** How sure the computer is of the region. */
    outcome: z.enum(["verified", "unverified_geolocation", "resolved_to_ping"]),
    site: z.looseObject({ aws_region: text({ pattern: CLOUD_REGION_PATTERN }) }),
  })
  .refine(
    (inference) => printedBytes(inference) <= SITE_INFERENCE_BYTES.maximum,
    `site_inference has at most ${SITE_INFERENCE_BYTES.maximum} bytes`,
  )
  .meta({ id: "SiteInference", description: "The region that the robot computer worked out, and how." });
export type SiteInference = z.output<typeof siteInferenceSchema>;

/** Body of `POST /v1/robot-agent/enrollment`: a robot computer asks for a credential of its own. */
export const enrolmentStartSchema = z
  .object({
    requested_name: text(ROBOT_NAME_LENGTH).describe("Name for the robot; the operator may choose another one."),
    public_key: text(PUBLIC_KEY_LENGTH).describe("Ed25519 public key of the computer: 32 raw bytes in base64url."),
    configuration_digest: text({ pattern: CONFIGURATION_DIGEST_PATTERN }).describe(
      "Ordered SHA-256 digest of the configuration files; the digest of nothing if the computer has not read them yet.",
    ),
    region: text(REGION_LENGTH).nullish().describe("Cloud region nearest the robot. Not together with site_inference."),
    site_inference: siteInferenceSchema.nullish(),
    site: text({ maximum: ROBOT_TEXTS.site.length.maximum })
      .nullish()
      .describe("Site name. Null, absent and empty mean none."),
    labels: labelsSchema(ENROLMENT_LABELS_COUNT.maximum).nullish(),
    organization_id: text({ minimum: 1, maximum: 128 })
      .nullish()
      .describe("If given, only this organization can find the code."),
    policy_proof: text({ minimum: 1 }).nullish().describe("Accepted and ignored."),
    robot_type_id: text(ROBOT_TYPE_ID_LENGTH).nullish(),
    contract: sentContractSchema.nullish(),
  })
  .refine(
    ({ region, site_inference: inference }) => (region ?? "").trim() === "" || (inference ?? null) === null,
    "region and site_inference exclude each other; send one of them",
  )
  .refine(isContractOfType, {
    path: ["contract", "robot_type_id"],
    error: "must be the robot_type_id that is sent",
  })
  .meta({ id: "EnrolmentStart", description: "A robot computer asks for a credential of its own." });

function printedBytes(value: unknown): number {
  const printed = JSON.stringify(value, (_name, member: unknown) =>
    typeof member === "bigint" ? String(member) : member,
  );
  return new TextEncoder().encode(printed).length;
}

export type EnrolmentStart = z.output<typeof enrolmentStartSchema>;

const enrolmentWaitSchema = z
  .literal("name_exists")
  .optional()
  .describe(
    "Why a computer with a key for enrolments waits for an operator. Without such a key this is not told: a stranger could try names.",
  );

export const enrolmentStartedSchema = z
  .object({
    approval_id: z.string(),
    user_code: z.string().describe("The code that the operator approves."),
    poll_token: z.string().describe("Secret of the computer that started the enrolment."),
    expires_at: z.string(),
    interval_s: z.int().describe("Seconds between polls."),
    approval_required: z.boolean().describe("False if the computer needs no operator: it enrolled with a bulk key."),
    reason: enrolmentWaitSchema,
  })
  .meta({ id: "EnrolmentStarted" });
export type EnrolmentStarted = z.output<typeof enrolmentStartedSchema>;

/** Body of `POST /v1/robot-agent/enrollment/poll`. */
export const enrolmentPollSchema = z
  .object({
    approval_id: text({ minimum: 1 }),
    poll_token: text({ minimum: 1 }),
    signature: text({ minimum: 1 }).describe("Ed25519 signature of the enrolment text, 64 raw bytes in base64url."),
  })
  .meta({ id: "EnrolmentPoll" });
export type EnrolmentPoll = z.output<typeof enrolmentPollSchema>;

/** States in which an enrolment needs nothing more from anyone. */
export const ENROLMENT_ENDS = ["denied", "expired", "consumed"] as const;
export type EnrolmentEnd = (typeof ENROLMENT_ENDS)[number];

/** What a credential comes with: in the answers that contain one, and in those to heartbeats. */
export const credentialTermsSchema = z.object({
  installation_id: z.string(),
  credential_expires_at: z.string(),
  renew_after_s: z.int().min(0).describe("Seconds until the credential should be renewed; counts down."),
  principal: z.string(),
  generation: z.int().optional().describe("How many credentials the installation has had."),
});

export const enrolmentPolledSchema = z
  .discriminatedUnion("status", [
    z.object({ status: z.literal("pending"), retry_after_s: z.int().min(1).max(60), reason: enrolmentWaitSchema }),
    credentialTermsSchema.extend({
      status: z.literal("approved"),
      robot: identifiedRobotViewSchema,
      installation_token: z.string(),
    }),
    z.object({ status: z.enum(ENROLMENT_ENDS) }),
  ])
  .meta({ id: "EnrolmentPolled" });
export type EnrolmentPolled = z.output<typeof enrolmentPolledSchema>;

/** Body of `POST /v1/robots/approve`. */
export const enrolmentApprovalSchema = z
  .object({
    user_code: text(USER_CODE_LENGTH).describe("Compared without spaces and hyphens, in upper case."),
    name: text(ROBOT_NAME_LENGTH).nullish().describe("Name of the robot instead of the requested one."),
    region: text(REGION_LENGTH).nullish().describe("Region of the robot instead of the one that the computer sent."),
    site: text({ maximum: ROBOT_TEXTS.site.length.maximum })
      .nullish()
      .describe("Site of the robot instead of the one that the computer sent. Null, absent and empty mean that one."),
    labels: labelsSchema(ENROLMENT_LABELS_COUNT.maximum)
      .nullish()
      .describe("Labels of the robot, laid over those that the computer sent."),
    confirm_replace: z.boolean().nullish().describe("True to replace the computer of a robot that is online."),
  })
  .meta({ id: "EnrolmentApproval" });
export type EnrolmentApproval = z.output<typeof enrolmentApprovalSchema>;

export const enrolmentApprovedSchema = z
  .object({
    approval_id: z.string(),
    user_code: z.string(),
    status: z.literal("approved"),
    requested_name: z.string().describe("The name as decided."),
    region: z.string().describe("The region as decided."),
    robot_type_id: z.string(),
    site: z
      .string()
      .nullish()
      .describe("As decided, like labels: both only if the request gave one of them. Null keeps what a robot has."),
    labels: z.record(z.string(), z.string()).optional(),
  })
  .meta({ id: "EnrolmentApproved" });

/** Body of `POST /v1/robots/deny`. */
export const enrolmentDenialSchema = z.object({ user_code: text(USER_CODE_LENGTH) }).meta({ id: "EnrolmentDenial" });
export type EnrolmentDenial = z.output<typeof enrolmentDenialSchema>;

const enrolmentDeniedSchema = enrolmentApprovedSchema
  .pick({ approval_id: true, user_code: true })
  .extend({ status: z.literal("denied"), requested_name: z.string() })
  .meta({ id: "EnrolmentDenied" });

/** A waiting enrolment as its approver sees it before deciding. */
export const enrolmentViewSchema = z
  .object({
    approval_id: z.string(),
    user_code: z.string(),
    requested_name: z.string(),
    region: z.string().nullable().describe("What the computer said or worked out."),
    site: z.string().nullable(),
    labels: z.record(z.string(), z.string()),
    robot_type_id: z.string().nullable(),
    configuration_digest: z.string(),
    address: z.string().describe("Address that the request came from."),
    key_fingerprint: z.string().describe("SHA256: and the base64 of the SHA-256 of the public key."),
    created_at: z.string(),
    expires_at: z.string(),
    /** The robot of that name as the service has it; null if approval adds one. */
    robot: identifiedRobotViewSchema.nullable().describe("The robot that has this name already."),
  })
  .meta({ id: "EnrolmentView" });
export type EnrolmentView = z.output<typeof enrolmentViewSchema>;

export const enrolmentListSchema = z.object({ items: z.array(enrolmentViewSchema) }).meta({ id: "EnrolmentList" });

const operation = operationsOf("robots");

export const startEnrolment = operation("POST", "/v1/robot-agent/enrollment", {
  summary: "Start the enrolment of a robot computer",
  does: "A computer asks for a credential of its own, without one or with a key for enrolments. Each start has a new code, which an operator approves within ten minutes; a start ends the one before with the same key. With a key for enrolments, a new robot needs no operator; an enrolment under the name of an existing robot does.",
  answers: {
    200: "The code to show, and poll_token, the secret of this computer, which only this answer contains. With a key for enrolments, reason name_exists: a robot has the name, so a person decides.",
    401: "A credential was sent that is not valid. None is needed.",
    403: "The credential is no key for enrolments, or it is used up (reason uses_spent).",
    409: "The public key is that of a computer that is enrolled (reason key_in_use), or the organization of the key has reached its limit of robots.",
    422: "An input is invalid. With a key for enrolments this includes a name that no robot can have, and a region that neither the computer nor the key gives.",
  },
  scopes: ["robots:enroll"],
  isOpen: true,
  request: enrolmentStartSchema,
  bodyBytes: BODY_BYTES.enrolment,
  response: enrolmentStartedSchema,
});

export const pollEnrolment = operation("POST", "/v1/robot-agent/enrollment/poll", {
  summary: "Ask whether an enrolment was approved",
  does: "Tells the computer that started an enrolment what became of it. The first poll after the approval makes its installation, and ends that of an older computer of the robot. Until the credential is used, a poll answers with a fresh value: an answer may be lost.",
  answers: {
    200: "The status. Only with approved: the robot, and the credential as installation_token with its terms.",
    404: "No such enrolment, or the token or the signature is wrong. Enrolments are kept for a day after their end.",
  },
  scopes: "signed",
  request: enrolmentPollSchema,
  bodyBytes: BODY_BYTES.enrolment,
  response: enrolmentPolledSchema,
});

export const approveEnrolment = operation("POST", "/v1/robots/approve", {
  summary: "Approve the enrolment of a robot computer",
  does: "Approves the enrolment of a computer by its code. The robot gets the name, region and site of the request, else those that the computer sent, and its labels laid over the computer's. An existing robot of that name keeps its id; its computer is replaced when the new one polls.",
  answers: {
    200: "The robot as decided, and the type that the robot has. The same approval again has the same answer.",
    403: "The credential lacks the scope robots:write, or it is a key that is restricted to other robot names.",
    404: "No enrolment waits with this code, or it is another organization's.",
    409: "The robot is online on another computer, and confirm_replace is not true (reason robot_online); the code was approved with other values (reason already_approved); or the organization or the key has reached its limit of robots.",
    422: "An input is invalid, no robot can have this name, or neither the request nor the computer names a region. The enrolment still waits.",
  },
  scopes: ["robots:write"],
  request: enrolmentApprovalSchema,
  bodyBytes: BODY_BYTES.enrolment,
  response: enrolmentApprovedSchema,
});

export const denyEnrolment = operation("POST", "/v1/robots/deny", {
  summary: "Deny the enrolment of a robot computer",
  does: "Denies the enrolment of a computer by its code; also after its approval, until the computer has polled for its credential.",
  answers: {
    200: "The enrolment ended.",
    404: "No enrolment waits with this code, or it is another organization's.",
  },
  scopes: ["robots:write"],
  request: enrolmentDenialSchema,
  bodyBytes: BODY_BYTES.names,
  response: enrolmentDeniedSchema,
});

/** Enrolments that name the organization; where it is the only one of the service, also those that name none. */
export const listEnrolments = operation("GET", "/v1/robot-enrollments", {
  summary: "List waiting enrolments",
  does: "Lists the waiting enrolments that name the organization, each with the robot that already has its name. If the service has only this organization, also those that name none.",
  answers: { 200: "At most 1000, newest first." },
  scopes: ["robots:write"],
  response: enrolmentListSchema,
});

export const getEnrolment = operation("GET", "/v1/robot-enrollments/{user_code}", {
  summary: "Get a waiting enrolment by its code",
  does: "Returns a waiting enrolment by its code, so that an operator sees who asks before approving it.",
  answers: {
    200: "The enrolment.",
    404: "No enrolment waits with this code, or it is another organization's.",
  },
  scopes: ["robots:write"],
  response: enrolmentViewSchema,
});
