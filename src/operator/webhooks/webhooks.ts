import { beyondSpec } from "../../api/api.ts";
import type { WebhookView } from "../../api/webhooks.ts";
import { receiverOf, webhookState, webhookStateInWords } from "../../api/words/webhooks.ts";
import { relativeTime } from "../../platform/text/relative-time.ts";
import type { OperatorCommand } from "../context.ts";
import type { ListView } from "../lists/columns.ts";
import { showFacts } from "../lists/show-facts.ts";
import { showList } from "../lists/show-list.ts";
import { withService } from "../operator.ts";
import { NO_WEBHOOKS, withWebhook } from "./find.ts";

const webhooksView: ListView<WebhookView> = {
  headers: ["receiver", "state", "events", "dropped", "created", "id"],
  prose: ["events"],
  spare: ["dropped", "events", "created"],
  row: (webhook, nowMs) => [
    receiverOf(webhook),
    webhookState(webhook),
    eventsText(webhook),
    String(webhook.dropped_events),
    relativeTime(webhook.created_at, nowMs),
    webhook.id,
  ],
  id: ({ id }) => id,
  empty: "There are no webhooks. This creates one: robot-policy webhooks create https://RECEIVER/PATH",
};

/** `webhooks list`: where events are sent. */
export const webhooksList: OperatorCommand = (flags, context) =>
  withService(flags, context, (service) => {
    const load = () => service.listAll(beyondSpec.listWebhooks, ({ items }) => items);
    return showList(service, load, webhooksView, { missing: NO_WEBHOOKS });
  });

/** `webhooks show WEBHOOK`: never its secret. */
export const webhooksShow: OperatorCommand = (flags, context, name) =>
  withWebhook(flags, context, name, async (service, { value, document }) =>
    service.answer(document, () => {
      const since = (iso: string | null) => relativeTime(iso, service.nowMs());
      showFacts(service.terminal, [
        ["webhook", value.id],
        ["url", value.url],
        ["events", eventsText(value)],
        ["state", webhookStateInWords(value)],
        ["disabled", since(value.disabled_at)],
        ["full", since(value.full_since)],
        ["failing", since(value.failing_since)],
        ["dropped", value.dropped_events === 0 ? "" : `${value.dropped_events} events`],
        ["created", since(value.created_at)],
      ]);
    }),
  );

function eventsText({ events }: WebhookView): string {
  return events === null ? "all" : events.join(" ");
}
