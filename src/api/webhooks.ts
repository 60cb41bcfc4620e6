import * as z from "zod";

import { BODY_BYTES } from "./wire/body-bytes.ts";
import { EVENT_TYPES } from "./wire/event-types.ts";
import { operationsOf } from "./wire/operation.ts";
import { pageQuerySchema, WHOLE_LIST } from "./wire/pages.ts";
import { text } from "./wire/text.ts";

/** Sent only to the webhook that is tested. */
export const TEST_EVENT = "webhook.test";

export const WEBHOOK_URL_LENGTH = { minimum: 1, maximum: 2048 } as const;
/** Of one organization. */
export const WEBHOOKS_MAXIMUM = 20;

/** Body of `POST /v1/webhooks`. */
export const webhookCreateSchema = z
  .object({
    url: text(WEBHOOK_URL_LENGTH).describe("Where events are sent by POST: https, on a public address."),
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

/** Body of `PATCH /v1/webhooks/{webhook_id}`: what is absent stays as it is, and so does the secret. */
export const webhookChangeSchema = z
  .object({
    url: webhookCreateSchema.shape.url.nullish(),
    events: webhookCreateSchema.shape.events,
    disabled: z
      .boolean()
      .nullish()
      .describe("true: no more events, and what is pending is given up. false: events from now on."),
  })
  .meta({ id: "WebhookChange" });
export type WebhookChange = z.output<typeof webhookChangeSchema>;

export const webhookViewSchema = z
  .object({
    id: z.string(),
    url: z.string(),
    events: z.array(z.string()).nullable().describe("Null: all events."),
    created_at: z.string(),
    failing_since: z.string().nullable().describe("First failure since the last delivery that succeeded."),
    full_since: z
      .string()
      .nullable()
      .describe("Since when new events are dropped because too many wait to be delivered."),
    dropped_events: z
      .int()
      .describe(
        "Number of events dropped since the webhook was created. It may be too low: of events at the same moment, some are not counted.",
      ),
    disabled_at: z.string().nullable().describe("Since when the service sends it no events."),
    disabled_reason: z
      .string()
      .nullable()
      .describe("gone: the receiver answered 410. failing: it failed for days. requested: by an operator."),
  })
  .meta({ id: "Webhook" });
export type WebhookView = z.output<typeof webhookViewSchema>;

export const webhookCreatedSchema = webhookViewSchema
  .extend({ secret: z.string().describe("Verifies signatures. Only this answer contains it.") })
  .meta({ id: "WebhookCreated" });

export const webhookListSchema = z.object({ items: z.array(webhookViewSchema) }).meta({ id: "WebhookList" });

export const webhookDeletedSchema = z.object({ id: z.string(), deleted_at: z.string() }).meta({ id: "WebhookDeleted" });

export const DELIVERY_STATUSES = ["pending", "delivered", "failed"] as const;

export const deliveryViewSchema = z
  .object({
    id: z.string(),
    event_id: z.string().describe("The header webhook-id: equal in every attempt to deliver the event."),
    type: z.string(),
    status: z.enum(DELIVERY_STATUSES),
    created_at: z.string(),
    attempts: z.int().describe("Since the event, or since it was last sent again by request."),
    next_attempt_at: z.string().nullable().describe("Null unless pending."),
    last_attempt_at: z.string().nullable(),
    last_status: z.int().nullable().describe("HTTP status of the last answer; null if there was none."),
    last_error: z.string().nullable().describe("Why the last attempt failed, in a few words."),
    body: z
      .record(z.string(), z.unknown())
      .describe(
        "What is sent: type, timestamp, and data with ids, the name, and what changed. Beyond 16 KiB, data has only the ids and is_shortened.",
      ),
  })
  .meta({ id: "WebhookDelivery" });
export type DeliveryView = z.output<typeof deliveryViewSchema>;

export const deliveryListSchema = z.object({ items: z.array(deliveryViewSchema) }).meta({ id: "WebhookDeliveryList" });

const operation = operationsOf("webhooks");

export const createWebhook = operation("POST", "/v1/webhooks", {
  summary: "Create a webhook",
  does: "Has the service send events by POST, signed as the Standard Webhooks specification says. A webhook is sent what happens from its creation on, and from when it is enabled again; a robot that keeps coming and going causes at most one a minute. An event is sent at least once; its id, in the header webhook-id, is the same each time. A receiver answers 2xx within 15 seconds; otherwise the service tries again, up to 8 attempts in about 28 hours. An answer of 410 disables the webhook. Only this answer contains the secret that verifies the signatures.",
  answers: {
    200: "The webhook, and its secret.",
    409: `The organization has ${WEBHOOKS_MAXIMUM} webhooks.`,
    422: "An input is invalid. This includes a URL that is not https, or that names an address that is not public, unless the configuration of the service allows it.",
  },
  scopes: ["webhooks:write"],
  request: webhookCreateSchema,
  bodyBytes: BODY_BYTES.names,
  response: webhookCreatedSchema,
});

export const listWebhooks = operation("GET", "/v1/webhooks", {
  summary: "List webhooks",
  does: "Lists the webhooks of the organization, also disabled ones, never their secrets.",
  answers: { 200: WHOLE_LIST },
  scopes: ["webhooks:read"],
  query: pageQuerySchema,
  response: webhookListSchema,
});

export const getWebhook = operation("GET", "/v1/webhooks/{webhook_id}", {
  summary: "Show a webhook",
  does: "Shows a webhook, never its secret.",
  answers: { 200: "The webhook." },
  scopes: ["webhooks:read"],
  response: webhookViewSchema,
});

export const changeWebhook = operation("PATCH", "/v1/webhooks/{webhook_id}", {
  summary: "Change, disable or enable a webhook",
  does: "Changes where a webhook sends and of what, disables it, or enables it again. What is absent stays, and so does the secret.",
  answers: {
    200: "The webhook after the change.",
    422: "An input is invalid. This includes a URL that creating a webhook refuses.",
  },
  scopes: ["webhooks:write"],
  request: webhookChangeSchema,
  bodyBytes: BODY_BYTES.names,
  response: webhookViewSchema,
});

export const deleteWebhook = operation("DELETE", "/v1/webhooks/{webhook_id}", {
  summary: "Delete a webhook",
  does: "Deletes a webhook, with what it was sent and what was still to be sent.",
  answers: { 200: "The webhook is deleted. A request that is under way may still arrive." },
  scopes: ["webhooks:write"],
  response: webhookDeletedSchema,
});

export const listDeliveries = operation("GET", "/v1/webhooks/{webhook_id}/deliveries", {
  summary: "List what a webhook was sent",
  does: "Lists the events of the last 30 days for a webhook, and what became of each.",
  answers: { 200: "The whole list or one page, newest first." },
  scopes: ["webhooks:read"],
  query: pageQuerySchema,
  response: deliveryListSchema,
});

export const getDelivery = operation("GET", "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}", {
  summary: "Show what became of an event",
  does: "Shows an event of the last 30 days for a webhook, and what became of it.",
  answers: { 200: "The delivery." },
  scopes: ["webhooks:read"],
  response: deliveryViewSchema,
});

export const resendDelivery = operation("POST", "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/resend", {
  summary: "Send an event again",
  does: "Sends an event again under the same id, with as many attempts as for a new one.",
  answers: {
    200: "The delivery, now pending.",
    409: "The webhook is disabled.",
  },
  scopes: ["webhooks:write"],
  response: deliveryViewSchema,
});

export const testWebhook = operation("POST", "/v1/webhooks/{webhook_id}/test", {
  summary: "Send a test event",
  does: "Sends an event of the type webhook.test to a webhook, whatever events it is for.",
  answers: {
    200: "The delivery; the list of deliveries shows what becomes of it.",
    409: "The webhook is disabled, or too many events already wait for it.",
  },
  scopes: ["webhooks:write"],
  response: deliveryViewSchema,
});
