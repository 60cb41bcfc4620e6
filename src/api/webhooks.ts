import * as z from "zod";

import { BODY_BYTES } from "./wire/body-bytes.ts";
import { EVENT_TYPES } from "./wire/event-types.ts";
import type { Operation } from "./wire/operation.ts";
import { pageQuerySchema } from "./wire/pages.ts";
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
      .describe("Types of the events to send; absent or null for all of them, also later ones."),
  })
  .meta({ id: "WebhookCreate" });

export type WebhookCreate = z.output<typeof webhookCreateSchema>;

/** Body of `PATCH /v1/webhooks/{webhook_id}`: what is absent stays as it is, and so does the secret. */
export const webhookChangeSchema = z
  .object({
    url: webhookCreateSchema.shape.url.nullish(),
    events: webhookCreateSchema.shape.events,
    disabled: z
      .literal([true, false])
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
        "At least so many events were dropped since the webhook was created; some that come at the same time are not counted.",
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
    body: z.record(z.string(), z.unknown()).describe("What is sent: type, timestamp and data."),
  })
  .meta({ id: "WebhookDelivery" });

export type DeliveryView = z.output<typeof deliveryViewSchema>;

export const deliveryListSchema = z.object({ items: z.array(deliveryViewSchema) }).meta({ id: "WebhookDeliveryList" });

export const createWebhook = {
  summary: "Create a webhook",
  tag: "webhooks",
  method: "POST",
  path: "/v1/webhooks",
  scopes: ["webhooks:write"],
  request: webhookCreateSchema,
  bodyBytes: BODY_BYTES.names,
  response: webhookCreatedSchema,
} as const satisfies Operation;

export const listWebhooks = {
  summary: "List webhooks",
  tag: "webhooks",
  method: "GET",
  path: "/v1/webhooks",
  scopes: ["webhooks:read"],
  query: pageQuerySchema,
  request: null,
  response: webhookListSchema,
} as const satisfies Operation;

export const getWebhook = {
  summary: "Show a webhook",
  tag: "webhooks",
  method: "GET",
  path: "/v1/webhooks/{webhook_id}",
  scopes: ["webhooks:read"],
  request: null,
  response: webhookViewSchema,
} as const satisfies Operation;

export const changeWebhook = {
  summary: "Change, disable or enable a webhook",
  tag: "webhooks",
  method: "PATCH",
  path: "/v1/webhooks/{webhook_id}",
  scopes: ["webhooks:write"],
  request: webhookChangeSchema,
  bodyBytes: BODY_BYTES.names,
  response: webhookViewSchema,
} as const satisfies Operation;

export const deleteWebhook = {
  summary: "Delete a webhook",
  tag: "webhooks",
  method: "DELETE",
  path: "/v1/webhooks/{webhook_id}",
  scopes: ["webhooks:write"],
  request: null,
  response: webhookDeletedSchema,
} as const satisfies Operation;

export const listDeliveries = {
  summary: "List what a webhook was sent",
  tag: "webhooks",
  method: "GET",
  path: "/v1/webhooks/{webhook_id}/deliveries",
  scopes: ["webhooks:read"],
  query: pageQuerySchema,
  request: null,
  response: deliveryListSchema,
} as const satisfies Operation;

export const getDelivery = {
  summary: "Show what became of an event",
  tag: "webhooks",
  method: "GET",
  path: "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}",
  scopes: ["webhooks:read"],
  request: null,
  response: deliveryViewSchema,
} as const satisfies Operation;

export const resendDelivery = {
  summary: "Send an event again",
  tag: "webhooks",
  method: "POST",
  path: "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/resend",
  scopes: ["webhooks:write"],
  request: null,
  response: deliveryViewSchema,
} as const satisfies Operation;

export const testWebhook = {
  summary: "Send a test event",
  tag: "webhooks",
  method: "POST",
  path: "/v1/webhooks/{webhook_id}/test",
  scopes: ["webhooks:write"],
  request: null,
  response: deliveryViewSchema,
} as const satisfies Operation;
