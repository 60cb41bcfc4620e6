import * as z from "zod";

import { BODY_BYTES } from "./wire/body-bytes.ts";
import { EVENT_TYPES } from "./wire/event-types.ts";
import { operationsOf } from "./wire/operation.ts";
import { pageQuerySchema, WHOLE_LIST } from "./wire/pages.ts";
import { text } from "./wire/text.ts";

/** Sent only to the webhook that is tested. */
export const TEST_EVENT = "webhook.test";

/** Of one organization. */
export const WEBHOOKS_MAXIMUM = 20;
/** How long a secret that was rotated signs beside the new one. */
export const SECRET_OVERLAP_HOURS = 24;

/** Body of `POST /v1/webhooks`. */
export const webhookCreateSchema = z
  .object({
    url: text({ minimum: 1, maximum: 2048 }).describe("Where events are sent by POST: https, on a public address."),
    events: z
      .array(z.enum(EVENT_TYPES))
      .min(1)
      .max(EVENT_TYPES.length)
      .nullish()
      .describe(
        "Types of the events to send; absent or null: all, also types that are added later. robot.registered is a robot's first registration, robot.changed a later one that changed something.",
      ),
  })
  .meta({ id: "WebhookCreate" });
export type WebhookCreate = z.output<typeof webhookCreateSchema>;

export const webhookViewSchema = z
  .object({
    id: z.string(),
    url: z.string(),
    events: z.array(z.string()).nullable().describe("Null: all events."),
    created_at: z.string(),
    previous_secret_until: z
      .string()
      .nullable()
      .describe("Until when the former secret signs, too; null if the secret was never rotated."),
    last_error: z
      .string()
      .nullable()
      .describe("Why the last attempt to deliver an event failed, in a few words; null if it succeeded."),
    last_error_at: z.string().nullable(),
  })
  .meta({ id: "Webhook" });
export type WebhookView = z.output<typeof webhookViewSchema>;

export const webhookSecretSchema = webhookViewSchema
  .extend({ secret: z.string().describe("Verifies signatures. Only this answer contains it.") })
  .meta({ id: "WebhookSecret" });

export const webhookListSchema = z.object({ items: z.array(webhookViewSchema) }).meta({ id: "WebhookList" });

export const webhookTestedSchema = z
  .object({
    delivered: z.boolean().describe("Whether the receiver answered 2xx."),
    error: z.string().nullable().describe("Why not, in a few words."),
  })
  .meta({ id: "WebhookTested" });

const operation = operationsOf("webhooks");

export const createWebhook = operation("POST", "/v1/webhooks", {
  summary: "Create a webhook",
  does: "Has the service send events by POST, signed as the Standard Webhooks specification says. A webhook is sent what happens from its creation on; a robot that keeps coming and going causes at most one event a minute. An event is sent at least once; its id, in the header webhook-id, is the same each time. A receiver answers 2xx within 15 seconds; otherwise the service tries again, up to 8 attempts in about 28 hours, and not before the time of a Retry-After with 429 or 503. While more than 10,000 events wait, the oldest are dropped: a program that must miss none follows GET /v1/me/audit?after=ID. Only this answer contains the secret that verifies the signatures.",
  answers: {
    200: "The webhook, and its secret.",
    409: `The organization has ${WEBHOOKS_MAXIMUM} webhooks.`,
    422: "An input is invalid. This includes a URL that is not https, or that names an address that is not public, unless the configuration of the service allows it.",
  },
  scopes: ["webhooks:write"],
  request: webhookCreateSchema,
  bodyBytes: BODY_BYTES.names,
  response: webhookSecretSchema,
});

export const listWebhooks = operation("GET", "/v1/webhooks", {
  summary: "List webhooks",
  does: "Lists the webhooks of the organization, never their secrets.",
  answers: { 200: WHOLE_LIST },
  scopes: ["webhooks:read"],
  query: pageQuerySchema,
  response: webhookListSchema,
});

export const testWebhook = operation("POST", "/v1/webhooks/{webhook_id}/test", {
  summary: "Send a test event",
  does: "Sends an event of the type webhook.test to a webhook, whatever events it is for, and waits 10 seconds for the receiver.",
  answers: { 200: "What came of it.", 409: "Another test is under way." },
  scopes: ["webhooks:write"],
  response: webhookTestedSchema,
});

export const rotateWebhook = operation("POST", "/v1/webhooks/{webhook_id}/rotate", {
  summary: "Give a webhook a new secret",
  does: `Gives a webhook a new secret. For ${SECRET_OVERLAP_HOURS} hours events are signed with both, so that no receiver misses one. Only this answer contains the secret.`,
  answers: { 200: "The webhook, and its secret." },
  scopes: ["webhooks:write"],
  response: webhookSecretSchema,
});

export const deleteWebhook = operation("DELETE", "/v1/webhooks/{webhook_id}", {
  summary: "Delete a webhook",
  does: "Deletes a webhook, with the events that wait to be delivered to it.",
  answers: { 200: "The webhook is deleted. A request that is under way may still arrive." },
  scopes: ["webhooks:write"],
  response: z.object({ id: z.string(), deleted_at: z.string() }).meta({ id: "WebhookDeleted" }),
});
