import * as z from "zod";

import { ENROLMENT_LABELS_COUNT } from "./enrolments.ts";
import { ROBOT_TEXTS } from "./robot-texts.ts";
import { labelsSchema, REGION_LENGTH } from "./robots.ts";
import { BODY_BYTES } from "./wire/body-bytes.ts";
import { operationsOf } from "./wire/operation.ts";
import { pageQuerySchema, WHOLE_LIST } from "./wire/pages.ts";
import { API_KEY_SCOPES, ENROLL_SCOPE } from "./wire/scopes.ts";
import { text } from "./wire/text.ts";

/** In code points; the service document gives no bound. */
export const API_KEY_LABEL_LENGTH = { maximum: 256 } as const;

/** Length of a whole key: tables of existing clients truncate longer ones. */
export const API_KEY_LENGTH = { maximum: 40 } as const;

export const apiKeyScopeSchema = z.enum(API_KEY_SCOPES).meta({ id: "ApiKeyScope" });

/** Bounds of a key for enrolments. */
export const ENROLLMENT_USES = { minimum: 1, maximum: 100_000 } as const;
export const ENROLLMENT_DAYS = { maximum: 90 } as const;

/** What a key for enrolments says of the robots that enroll with it. */
export const keyEnrollmentSchema = z
  .object({
    uses: z
      .int()
      .min(ENROLLMENT_USES.minimum)
      .max(ENROLLMENT_USES.maximum)
      .describe("How many robots may enroll with the key."),
    site: text(ROBOT_TEXTS.site.length).nullish().describe("Site of the robots; wins over what their computers say."),
    region: text(REGION_LENGTH).nullish().describe("Region of the robots; wins over what their computers say."),
    labels: labelsSchema(ENROLMENT_LABELS_COUNT.maximum).nullish().describe("Laid over the labels of each robot."),
  })
  .meta({ id: "KeyEnrollment", description: "A key with which robots enroll without an approval." });

/** Body of `POST /v1/me/api-keys`. */
export const apiKeyCreateSchema = z
  .object({
    label: text(API_KEY_LABEL_LENGTH),
    scopes: z
      .array(apiKeyScopeSchema)
      .min(1)
      .max(API_KEY_SCOPES.length)
      .nullish()
      .describe(
        "What the key may do. Without scopes the key is unrestricted, which only an unrestricted credential can grant.",
      ),
    expires_at: z.iso
      .datetime({ offset: true })
      .nullish()
      .describe("When the key expires; must be in the future. The key never outlives the key that it depends on."),
    enrollment: keyEnrollmentSchema
      .nullish()
      .describe(
        `For a key whose only scope is robots:enroll, which needs it, and expires_at at most ${ENROLLMENT_DAYS.maximum} days ahead.`,
      ),
  })
  .refine(
    ({ scopes, enrollment }) =>
      (enrollment ?? null) === null
        ? scopes?.includes(ENROLL_SCOPE) !== true
        : scopes?.every((scope) => scope === ENROLL_SCOPE) === true,
    { path: ["enrollment"], error: `enrollment and the scope ${ENROLL_SCOPE} go together, without any other scope` },
  )
  .meta({ id: "ApiKeyCreate" });
export type ApiKeyCreate = z.output<typeof apiKeyCreateSchema>;

/** A key in lists, without its secret. The service document leaves the members open. */
export const apiKeyViewSchema = z
  .looseObject({
    id: z.string(),
    label: z.string().nullish(),
    key_prefix: z.string().nullish().describe("First characters of the key."),
    key_last4: z.string().nullish().describe("Last four characters of the key."),
    scopes: z.array(z.string()).nullish().describe("Null for an unrestricted key."),
    created_at: z.string().nullish(),
    last_used_at: z.string().nullish().describe("Accurate to about a minute."),
    expires_at: z.string().nullish(),
    revoked_at: z.string().nullish(),
    created_by: z
      .string()
      .nullish()
      .describe(
        "Id of the key that created it, directly or through a session; command for the service's own command line.",
      ),
    parent_id: z
      .string()
      .nullish()
      .describe("Id of the key that it ends with; null for a key that ends with no other."),
    enrollment: keyEnrollmentSchema.nullish().describe("What a key for enrolments is for; null for any other key."),
    uses_remaining: z.number().nullish().describe("How many robots may still enroll with the key."),
    last_robot_id: z.string().nullish().describe("The robot that enrolled last with the key."),
  })
  .meta({ id: "ApiKeyView" });
export type ApiKeyView = z.output<typeof apiKeyViewSchema>;

/** Answer of `POST /v1/me/api-keys`, the only one that contains the key itself. */
export const apiKeyCreatedSchema = apiKeyViewSchema
  .extend({ api_key: z.string() })
  .meta({ id: "ApiKeyCreated", description: "The only answer that contains the key itself." });

/** How long a key that was rotated still works, in seconds. */
export const ROTATION_OVERLAP_S = { usual: 86_400, maximum: 30 * 86_400 } as const;

/** Body of `POST /v1/me/api-keys/{key_id}/rotate`. */
export const apiKeyRotateSchema = z
  .object({
    overlap_s: z
      .int()
      .min(0)
      .max(ROTATION_OVERLAP_S.maximum)
      .nullish()
      .describe(`How long the former key still works; absent or null: ${ROTATION_OVERLAP_S.usual}, a day.`),
  })
  .meta({ id: "ApiKeyRotate" });
export type ApiKeyRotate = z.output<typeof apiKeyRotateSchema>;

export const apiKeyRotatedSchema = apiKeyCreatedSchema
  .extend({
    former_key_id: z.string(),
    former_expires_at: z.string().describe("Until when the former key works."),
  })
  .meta({ id: "ApiKeyRotated", description: "The only answer that contains the new key itself." });

/** Answer of `GET /v1/me/api-keys`. */
export const apiKeyListSchema = z.looseObject({ items: z.array(apiKeyViewSchema) }).meta({ id: "ApiKeyList" });

const operation = operationsOf("customer-auth");

export const createApiKey = operation("POST", "/v1/me/api-keys", {
  summary: "Create an API key",
  does: "Creates a key. Only this answer contains the key itself. The new key stops working when the key that created it expires or is revoked; for a session, that is the key with which the session was created. A key with scopes can grant only its own scopes.",
  answers: {
    200: "The record of the key, and the key itself as api_key.",
    403: "The credential lacks api-keys:write or a scope that the new key requests, or is restricted but requests an unrestricted key.",
    409: "The organization has 10000 keys that are not revoked. Or the chain of keys that depend on each other would be longer than 16.",
    422: "An input is invalid, or expires_at is in the past.",
  },
  scopes: ["api-keys:write"],
  request: apiKeyCreateSchema,
  bodyBytes: BODY_BYTES.names,
  response: apiKeyCreatedSchema,
});

export const rotateApiKey = operation("POST", "/v1/me/api-keys/{key_id}/rotate", {
  summary: "Replace an API key by a new one",
  does: "Replaces a key by a new one of the same label, parent, scopes and expiry; the former key works until the overlap is over. Keys and sessions that were made with the former key depend on the new one from then on, so a key that leaked is revoked rather than rotated. A credential rotates its own key and those that end with it; one that may do everything and never expires rotates any.",
  answers: {
    200: "The record of the new key, and the key itself as api_key.",
    403: "The credential lacks api-keys:write or a scope of the key, or the key does not end with its own.",
    409: "The key has ended, is for enrolments, or the organization has too many keys.",
  },
  scopes: ["api-keys:write"],
  request: apiKeyRotateSchema,
  bodyBytes: BODY_BYTES.names,
  response: apiKeyRotatedSchema,
});

export const listApiKeys = operation("GET", "/v1/me/api-keys", {
  summary: "List API keys",
  does: "Lists the records of the organization's keys, including revoked and expired ones, never the keys themselves.",
  answers: { 200: WHOLE_LIST },
  scopes: ["api-keys:read"],
  query: pageQuerySchema,
  response: apiKeyListSchema,
});

export const revokeApiKey = operation("DELETE", "/v1/me/api-keys/{key_id}", {
  summary: "Revoke an API key",
  does: "Revokes a key, the keys that depend on it and the sessions that any of them approved, on every replica from the next request on. A key may revoke itself. Revoking a revoked key changes nothing.",
  answers: {
    200: "The record of the key, with revoked_at.",
    403: "The credential lacks api-keys:write, or the key has more rights than the credential.",
  },
  scopes: ["api-keys:write"],
  response: apiKeyViewSchema,
});
