import * as z from "zod";

import { credentialTermsSchema, PUBLIC_KEY_LENGTH } from "./enrolments.ts";
import { CONFIGURATION_DIGEST_PATTERN } from "./robots.ts";
import { BODY_BYTES } from "./wire/body-bytes.ts";
import { operationsOf } from "./wire/operation.ts";
import { text } from "./wire/text.ts";

export const RECOVERIES = { maximum: 100 } as const;

/** Body of `PUT /v1/robot-agent/heartbeat`. */
export const heartbeatSchema = z
  .object({
    readiness: z.enum(["ready", "not_ready"]),
    reason: text({ maximum: 512 }).nullish().describe("Why the robot is not ready; only with not_ready."),
    runtime_version: text({ minimum: 1, maximum: 64 }).nullish().describe("Version of the agent. Kept if absent."),
    manifest_digest: text({ pattern: CONFIGURATION_DIGEST_PATTERN })
      .nullish()
      .describe("Configuration digest that the robot registered last. Kept if absent."),
  })
  .refine(({ readiness, reason }) => readiness === "ready" || (reason ?? "") !== "", "not_ready requires a reason")
  .refine(({ readiness, reason }) => readiness !== "ready" || (reason ?? null) === null, "ready takes no reason")
  .meta({ id: "Heartbeat" });
export type Heartbeat = z.output<typeof heartbeatSchema>;

export const heartbeatAcceptedSchema = credentialTermsSchema
  .extend({ robot_id: z.string(), accepted_at: z.string() })
  .meta({ id: "HeartbeatAccepted" });
export type HeartbeatAccepted = z.output<typeof heartbeatAcceptedSchema>;

/** Body of `POST /v1/robot-agent/credential/renew`. */
export const renewalSchema = z
  .object({
    public_key: text(PUBLIC_KEY_LENGTH),
    nonce: text({ minimum: 16, maximum: 256 }).describe("A fresh random text for each renewal."),
    signature: text({ minimum: 1 }).describe("Ed25519 signature of the renewal text, 64 raw bytes in base64url."),
  })
  .meta({ id: "Renewal" });
export type Renewal = z.output<typeof renewalSchema>;

export const renewedSchema = credentialTermsSchema
  .extend({
    installation_token: z.string(),
    recovered: z.boolean().describe("True if the credential had expired."),
    recoveries_remaining: z.int().min(0),
  })
  .meta({ id: "Renewed" });
export type Renewed = z.output<typeof renewedSchema>;

export const installationViewSchema = z
  .object({
    installation_id: z.string(),
    robot_id: z.string(),
    /** `revoked` is final. */
    state: z.enum(["active", "frozen", "revoked"]),
    generation: z.int(),
    enrolled_at: z.string(),
    approved_by: z.string().describe("Credential that approved the enrolment."),
    key_fingerprint: z.string(),
    credential_expires_at: z.string(),
    recoveries_remaining: z.int(),
    recovery_until: z.string().describe("Until when an expired credential can still be renewed."),
    readiness: z.string().nullable(),
    reason: z.string().nullable(),
    runtime_version: z.string().nullable(),
    manifest_digest: z.string().nullable(),
    last_seen_at: z.string().nullable(),
    last_address: z.string().nullable(),
  })
  .meta({ id: "InstallationView" });
export type InstallationView = z.output<typeof installationViewSchema>;

/** Body of `PATCH /v1/robots/{robot}/installation`. */
export const installationChangeSchema = z
  .object({
    recoveries_remaining: z
      .int()
      .min(0)
      .max(RECOVERIES.maximum)
      .nullish()
      .describe("Sets how often the robot may renew an expired credential, and restarts the recovery window now."),
    frozen: z.literal(false).nullish().describe("False lets a frozen robot work again."),
  })
  .meta({ id: "InstallationChange" });
export type InstallationChange = z.output<typeof installationChangeSchema>;

const operation = operationsOf("robots");

export const heartbeat = operation("PUT", "/v1/robot-agent/heartbeat", {
  summary: "Report that a robot is alive",
  does: "A robot reports, with its own credential, that it is alive and whether it can work. runtime_version and manifest_digest keep their last value if they are absent. The report is in the robot's view at once on this replica, and on others within seconds.",
  answers: {
    200: "When the report arrived, and the terms of the credential. renew_after_s counts down to the time at which the robot should renew.",
    403: "The credential is not a robot's own, or the installation is frozen because its key is in use on two computers.",
  },
  scopes: ["robots:self"],
  request: heartbeatSchema,
  bodyBytes: BODY_BYTES.names,
  response: heartbeatAcceptedSchema,
});

/** Open to everyone: the signature is the proof, and the bearer only tells which value the computer holds. */
export const renewCredential = operation("POST", "/v1/robot-agent/credential/renew", {
  summary: "Renew the credential of a robot",
  does: "Issues the next credential of a robot's computer, which signs the request with the key that it enrolled. Also works for some time after the credential expired. The old credential works for ten more minutes, or until the new one is used.",
  answers: {
    200: "The new credential as installation_token, which only this answer contains, and its terms.",
    401: "No computer enrolled with this key, or the signature is wrong; reason is proof_invalid. The robot must enroll again.",
    403: "The installation is frozen, or its credential expired too long ago or too often; reason says which. An operator can allow it again.",
    409: "The nonce was used before.",
  },
  scopes: "signed",
  request: renewalSchema,
  bodyBytes: BODY_BYTES.names,
  response: renewedSchema,
});

/** Existing agents ask for work here; this service has none. */
export const claimRun = operation("POST", "/v1/robot-agent/runs/claim", {
  summary: "Ask for work",
  does: "Existing agents ask for work here. This service has none, and tells them to ask again in ten seconds.",
  answers: { 200: "No work." },
  scopes: "signed",
  request: z.looseObject({ lease_duration_s: z.unknown().optional() }).meta({ id: "RunClaim" }),
  bodyBytes: BODY_BYTES.names,
  response: z.object({ run: z.null(), retry_after_s: z.int() }).meta({ id: "RunClaimed" }),
});

export const getInstallation = operation("GET", "/v1/robots/{robot}/installation", {
  summary: "Get the installation of a robot",
  does: "Returns the computer that speaks for a robot, or the last one that did: its key, the state of its credential, and its last report.",
  answers: {
    200: "The installation.",
    404: "There is no such robot, or it was never enrolled.",
  },
  scopes: ["robots:read"],
  response: installationViewSchema,
});

export const changeInstallation = operation("PATCH", "/v1/robots/{robot}/installation", {
  summary: "Thaw the installation of a robot, or let it recover",
  does: "Lets a frozen robot work again after a false alarm, or allows a robot that was away for too long to renew its credential. Neither needs anything on the robot.",
  answers: {
    200: "The installation.",
    409: "The installation was revoked.",
  },
  scopes: ["robots:write"],
  request: installationChangeSchema,
  bodyBytes: BODY_BYTES.names,
  response: installationViewSchema,
});
