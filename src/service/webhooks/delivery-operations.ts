import * as z from "zod";

import { type DeliveryView, TEST_EVENT } from "../../api/webhooks.ts";
import type { PageQuery } from "../../api/wire/pages.ts";
import { isoNow } from "../../platform/clock.ts";
import { type Answer, answerValue, refuse } from "../kernel/http/answers.ts";
import { answerList, ITEMS } from "../kernel/lists/answer-list.ts";
import type { Handler } from "../kernel/operation.ts";
import { newDelivery, printEvent } from "./announce.ts";
import { UNKNOWN_WEBHOOK, type WebhooksContext } from "./operations.ts";
import {
  type DeliveryRow,
  findDelivery,
  findWebhook,
  listDeliveryRows,
  lockWebhook,
  restartDelivery,
} from "./queries.ts";

const UNKNOWN_DELIVERY = refuse("NotFound", "Delivery not found");
const DISABLED = refuse("Conflict", "The webhook is disabled; enable it first");
const FULL = refuse("Conflict", "Too many events already wait to be delivered to the webhook");

/** `GET /v1/webhooks/{webhook_id}/deliveries`: newest first. */
export function listWebhookDeliveries({ store }: WebhooksContext): Handler<null, PageQuery> {
  return async (call) => {
    const webhook = await findWebhook(store.reader, call.principal.organizationId, call.path["webhook_id"] ?? "");
    if (webhook === undefined) return UNKNOWN_WEBHOOK;
    return answerList(call, {
      prefix: "whd",
      around: ITEMS,
      fetch: (range) => listDeliveryRows(store.reader, webhook.id, range),
      view: deliveryView,
    });
  };
}

/** `GET /v1/webhooks/{webhook_id}/deliveries/{delivery_id}`. */
export function getWebhookDelivery({ store }: WebhooksContext): Handler<null> {
  return async ({ principal, path }) => {
    const webhook = await findWebhook(store.reader, principal.organizationId, path["webhook_id"] ?? "");
    if (webhook === undefined) return UNKNOWN_WEBHOOK;
    const delivery = await findDelivery(store.reader, webhook.id, path["delivery_id"] ?? "");
    return delivery === undefined ? UNKNOWN_DELIVERY : answerValue(deliveryView(delivery));
  };
}

/** `POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/resend`. */
export function resendToWebhook({ machine, nudge }: WebhooksContext): Handler<null> {
  return async (call) => {
    const { webhook_id: webhookId = "", delivery_id: id = "" } = call.path;
    const at = isoNow(machine.clock);
    const answer = await call.write(async (transaction): Promise<Answer> => {
      const webhook = await lockWebhook(transaction, call.principal.organizationId, webhookId);
      if (webhook === undefined) return UNKNOWN_WEBHOOK;
      if (webhook.disabled_at !== null) return DISABLED;
      const delivery = await restartDelivery(transaction, webhookId, id, at);
      return delivery === undefined ? UNKNOWN_DELIVERY : answerValue(deliveryView(delivery));
    });
    nudge();
    return answer;
  };
}

/** `POST /v1/webhooks/{webhook_id}/test`: sends an event that says nothing, also to a webhook that wants none of its type. */
export function testOrganizationWebhook({ newId, machine, nudge }: WebhooksContext): Handler<null> {
  return async (call) => {
    const { organizationId } = call.principal;
    const webhookId = call.path["webhook_id"] ?? "";
    const at = isoNow(machine.clock);
    const ids = { id: newId("whd"), eventId: newId("evt") };
    const body = printEvent(TEST_EVENT, at, { webhook_id: webhookId });
    const row = newDelivery({ ...ids, organizationId, webhookId, type: TEST_EVENT, body }, at);
    const answer = await call.write(async (transaction): Promise<Answer> => {
      const webhook = await lockWebhook(transaction, organizationId, webhookId);
      if (webhook === undefined) return UNKNOWN_WEBHOOK;
      if (webhook.disabled_at !== null) return DISABLED;
      if (webhook.full_since !== null) return FULL;
      await transaction.insertInto("webhook_deliveries").values(row).execute();
      return answerValue(deliveryView(row));
    });
    nudge();
    return answer;
  };
}

const bodySchema = z.record(z.string(), z.unknown());

function deliveryView(row: DeliveryRow): DeliveryView {
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
