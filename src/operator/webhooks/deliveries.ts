import { beyondSpec } from "../../api/api.ts";
import type { DeliveryView, WebhookView } from "../../api/webhooks.ts";
import { lastAnswerInWords, receiverOf, subjectOfEvent } from "../../api/words/webhooks.ts";
import type { OperationInput, OperationOf } from "../../client/operation-client.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { makeChange } from "../change.ts";
import type { OperatorCommand } from "../context.ts";
import type { ListView } from "../lists/columns.ts";
import { keepListed } from "../lists/listed.ts";
import { showList } from "../lists/show-list.ts";
import { refuse, refusePathParameter } from "../refuse.ts";
import type { Answer, Service } from "../service.ts";
import { type Ended, waitTimeout, waitUntilEnded } from "../wait.ts";
import { NO_WEBHOOKS, withWebhook } from "./webhooks.ts";
import { timeAgo, timeDue } from "../times.ts";

/** Shown without `--all`. */
const NEWEST = 100;

const deliveriesView: ListView<DeliveryView> = {
  headers: ["event", "about", "status", "attempts", "last answer", "next try", "when", "id"],
  prose: ["about", "last answer"],
  spare: ["about", "when", "next try", "attempts"],
  row: (delivery, now) => [
    delivery.type,
    subjectOfEvent(delivery),
    delivery.status,
    String(delivery.attempts),
    lastAnswerInWords(delivery),
    timeDue(delivery.next_attempt_at, now),
    timeAgo(delivery.created_at, now),
    delivery.id,
  ],
  id: ({ id }) => id,
  empty: "There are no such deliveries. To send a test event: robot-policy webhooks test WEBHOOK",
};

/** `webhooks deliveries WEBHOOK`: events of the last month, newest first. */
export const webhooksDeliveries: OperatorCommand = (flags, context, name) => {
  const { status } = flags;
  const isWhole = flags.all === true || status !== undefined;
  return withWebhook(flags, context, name, async (service, { value }) => {
    let isCut = false;
    const load = async () => {
      const result = await service.listAll(beyondSpec.listDeliveries, ({ items }) => items, {
        parameters: { webhook_id: value.id },
        ...(isWhole ? {} : { maximum: NEWEST }),
      });
      if (result.kind !== "ok") return result;
      isCut = !isWhole && result.value.records.length === NEWEST;
      if (status === undefined) return result;
      return { ...result, value: keepListed(result.value, (delivery) => delivery.status === status) };
    };
    const exitCode = await showList(service, load, deliveriesView, { missing: NO_WEBHOOKS });
    if (isCut) service.terminal.note(`These are the newest ${NEWEST}; --all shows all of the last 30 days.`);
    return exitCode;
  });
};

/** `webhooks test WEBHOOK`: sends an event that says nothing. */
export const webhooksTest: OperatorCommand = (flags, context, name) =>
  withWebhook(flags, context, name, (service, { value }) =>
    deliver(service, value, beyondSpec.testWebhook, { parameters: { webhook_id: value.id } }),
  );

/** `webhooks resend WEBHOOK DELIVERY`: sends an event again, under the same id. */
export const webhooksResend: OperatorCommand = async (flags, context, name, delivery) => {
  if (delivery === undefined || refusePathParameter(delivery, context.terminal)) return EXIT.usage;
  return withWebhook(flags, context, name, (service, { value }) => {
    const parameters = { webhook_id: value.id, delivery_id: delivery };
    return deliver(service, value, beyondSpec.resendDelivery, { parameters });
  });
};

async function deliver(
  service: Service,
  webhook: WebhookView,
  row: OperationOf<DeliveryView>,
  input: OperationInput,
): Promise<ExitCode> {
  const { flags, terminal } = service;
  const timeoutMs = waitTimeout(flags, terminal);
  if (timeoutMs === null) return EXIT.usage;
  if (webhook.disabled_at !== null) {
    const what = `the webhook to ${receiverOf(webhook)} is disabled`;
    const fix = `enable it first: robot-policy webhooks update ${webhook.id} --enable`;
    return refuse({ code: "webhook-disabled", what, fix }, EXIT.conflict, terminal);
  }
  return makeChange(service, {
    row,
    input,
    missing: NO_WEBHOOKS,
    wait: (first) => waitForAnswer(service, webhook, first, timeoutMs),
    show(delivery, exitCode) {
      const what = `to ${receiverOf(webhook)} (${delivery.id})`;
      if (delivery.status === "delivered") {
        terminal.print(`${delivery.type} is delivered ${what}: ${lastAnswerInWords(delivery)}.`);
      } else if (exitCode === EXIT.ok) {
        terminal.print(`${delivery.type} is on its way ${what}.`);
        terminal.note(`robot-policy webhooks deliveries ${webhook.id} shows what becomes of it.`);
      }
    },
  });
}

/** Waits until the receiver has answered once, or could not be asked. */
function waitForAnswer(service: Service, webhook: WebhookView, first: Answer<DeliveryView>, timeoutMs: number) {
  const { id, attempts, type } = first.value;
  const what = `${type} waits for ${receiverOf(webhook)}`;
  return waitUntilEnded<Answer<DeliveryView>>(service, {
    first,
    fetch: () => service.call(beyondSpec.getDelivery, { parameters: { webhook_id: webhook.id, delivery_id: id } }),
    look: ({ value }) => ({ lines: [what], summary: what, ended: endOf(value, attempts) }),
    timeoutMs,
    later: () => `robot-policy webhooks deliveries ${webhook.id} shows what becomes of it`,
  });
}

function endOf(delivery: DeliveryView, attempts: number): Ended | null {
  if (delivery.status === "delivered") return { exitCode: EXIT.ok, problem: null };
  if (delivery.status === "pending" && delivery.attempts === attempts) return null;
  const isOver = delivery.status === "failed";
  const fix = isOver ? "mend the receiver, then send it again" : "mend the receiver; the service tries again by itself";
  const what = `${delivery.type} was not delivered: ${lastAnswerInWords(delivery)}`;
  return { exitCode: EXIT.rejected, problem: { code: "not-delivered", what, fix } };
}
