import * as z from "zod";

import { BODY_BYTES } from "./wire/body-bytes.ts";
import { operationsOf } from "./wire/operation.ts";
import { pageQuerySchema } from "./wire/pages.ts";
import { text } from "./wire/text.ts";

/** Keys of one request. */
export const ALLOWED_KEYS_COUNT = { minimum: 1, maximum: 1000 } as const;
/** Of one organization, used and unused ones. */
export const ALLOWED_KEYS_MAXIMUM = 10_000;
/** How far ahead an entry may expire. */
export const ALLOWED_KEY_DAYS = { maximum: 90 } as const;

/** Body of `POST /v1/robot-allowed-keys`. */
export const allowedKeysSchema = z
  .object({
    keys: z
      .array(text({ minimum: 1, maximum: 128 }))
      .min(ALLOWED_KEYS_COUNT.minimum)
      .max(ALLOWED_KEYS_COUNT.maximum)
      .describe("Public keys, as in an enrolment, or their fingerprints: SHA256: and 43 characters of base64."),
    expires_at: z.iso
      .datetime({ offset: true })
      .describe(`Until when a computer may enroll; at most ${ALLOWED_KEY_DAYS.maximum} days ahead.`),
  })
  .meta({ id: "AllowedKeysCreate" });
export type AllowedKeysCreate = z.output<typeof allowedKeysSchema>;

export const allowedKeyViewSchema = z
  .object({
    id: z.string(),
    key_fingerprint: z.string(),
    created_at: z.string(),
    expires_at: z
      .string()
      .describe("Until when a computer may enroll: not longer than the API key works that allowed it."),
    allowed_by: z
      .object({ id: z.string(), label: z.string().nullable() })
      .describe("The credential that allowed it, and the label of its key."),
    used_at: z.string().nullable().describe("When a computer enrolled with the key."),
    robot_id: z.string().nullable().describe("The robot that it enrolled as."),
    robot: z.string().nullable().describe("The robot's name."),
  })
  .meta({ id: "AllowedKey", description: "A key whose computer may enroll once, without a person's approval." });
export type AllowedKeyView = z.output<typeof allowedKeyViewSchema>;

export const allowedKeyListSchema = z.object({ items: z.array(allowedKeyViewSchema) }).meta({ id: "AllowedKeyList" });

export const allowedKeysAddedSchema = z
  .object({ added: z.int(), expires_at: z.string() })
  .meta({ id: "AllowedKeysAdded" });

export const allowedKeyRemovedSchema = z
  .object({ id: z.string(), removed_at: z.string() })
  .meta({ id: "AllowedKeyRemoved" });

const operation = operationsOf("robots");

export const allowKeys = operation("POST", "/v1/robot-allowed-keys", {
  summary: "Allow computers to enroll by their keys",
  scopes: ["robots:write"],
  request: allowedKeysSchema,
  bodyBytes: BODY_BYTES.fleet,
  response: allowedKeysAddedSchema,
});

export const listAllowedKeys = operation("GET", "/v1/robot-allowed-keys", {
  summary: "List the keys whose computers may enroll",
  scopes: ["robots:write"],
  query: pageQuerySchema,
  response: allowedKeyListSchema,
});

export const removeAllowedKey = operation("DELETE", "/v1/robot-allowed-keys/{allowed_key_id}", {
  summary: "Take a key off the list of allowed keys",
  scopes: ["robots:write"],
  response: allowedKeyRemovedSchema,
});
