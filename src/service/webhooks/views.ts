import * as z from "zod";

import type { DeliveryView, WebhookView } from "../../api/webhooks.ts";
import type { DeliveryRow, WebhookRow } from "./queries.ts";

const eventsSchema = z.array(z.string()).nullable();
const bodySchema = z.record(z.string(), z.unknown());

/** Without the secret. */
export function webhookView(row: WebhookRow): WebhookView {
  return {
    id: row.id,
    url: row.url,
    events: row.events === null ? null : eventsSchema.parse(JSON.parse(row.events)),
    created_at: row.created_at,
    failing_since: row.failing_since,
    full_since: row.full_since,
    dropped_events: row.dropped_events,
    disabled_at: row.disabled_at,
    disabled_reason: row.disabled_reason,
  };
}

export function deliveryView(row: DeliveryRow): DeliveryView {
  return {
    id: row.id,
    event_id: row.event_id,
    type: row.event_type,
    status: row.status,
    created_at: row.created_at,
    attempts: row.attempts,
    next_attempt_at: row.status === "pending" ? row.next_attempt_at : null,
    last_attempt_at: row.last_attempt_at,
    last_status: row.last_status,
    last_error: row.last_error,
    body: bodySchema.parse(JSON.parse(row.body)),
  };
}
