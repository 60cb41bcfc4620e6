import * as z from "zod";

import { BODY_BYTES } from "./wire/body-bytes.ts";
import { operationsOf } from "./wire/operation.ts";
import { pageQuerySchema, WHOLE_LIST } from "./wire/pages.ts";
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
  does: "Lets computers enroll without a person's approval, each once, by a list of their public keys or fingerprints. A computer still waits for a person if its name is that of a robot or none that a robot can have, if it names no region, if it names no organization and the service has several, or if it was allowed with an API key that has expired. A key that is already on the list may be used once more.",
  answers: {
    200: "How many keys were added; a key that is given twice counts once.",
    403: "The credential lacks the scope robots:write, or it is a key that is restricted to some robots.",
    409: `The organization would have more than ${ALLOWED_KEYS_MAXIMUM} allowed keys.`,
    422: "An input is invalid. This includes a text that is neither a public key nor a fingerprint.",
  },
  scopes: ["robots:write"],
  request: allowedKeysSchema,
  bodyBytes: BODY_BYTES.fleet,
  response: allowedKeysAddedSchema,
});

export const listAllowedKeys = operation("GET", "/v1/robot-allowed-keys", {
  summary: "List the keys whose computers may enroll",
  does: "Lists the allowed keys, also used ones, until a day after they expire: who allowed each, and when it was used.",
  answers: { 200: WHOLE_LIST },
  scopes: ["robots:write"],
  query: pageQuerySchema,
  response: allowedKeyListSchema,
});

export const removeAllowedKey = operation("DELETE", "/v1/robot-allowed-keys/{allowed_key_id}", {
  summary: "Take a key off the list of allowed keys",
  does: "Takes a key off the list. A computer that enrolled with it keeps its credential.",
  answers: { 200: "The key is off the list." },
  scopes: ["robots:write"],
  response: allowedKeyRemovedSchema,
});
