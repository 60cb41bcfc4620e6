import { beyondSpec } from "../../api/api.ts";
import type { WebhookView } from "../../api/webhooks.ts";
import { receiverOf, webhookState, webhookStateInWords } from "../../api/words/webhooks.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { relativeTime } from "../../platform/text/relative-time.ts";
import type { OperatorContext } from "../context.ts";
import type { OperatorFlags } from "../flags.ts";
import type { ListView } from "../lists/columns.ts";
import { showFacts } from "../lists/show-facts.ts";
import { showList } from "../lists/show-list.ts";
import { withService } from "../operator.ts";
import { failedWebhooks, withWebhook } from "./find.ts";

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
export async function webhooksList(flags: OperatorFlags, context: OperatorContext): Promise<ExitCode> {
  return withService(flags, context, async (service) => {
    const load = () => service.listAll(beyondSpec.listWebhooks, ({ items }) => items);
    const first = await load();
    if (first.kind !== "ok") return failedWebhooks(service, first, context);
    return showList(service, load, webhooksView, flags, context, first);
  });
}

/** `webhooks show WEBHOOK`: never its secret. */
export async function webhooksShow(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  const { terminal, machine } = context;
  return withWebhook(flags, context, name, async (_service, { value, document }) => {
    if (flags.json === true) {
      terminal.json(document);
      return EXIT.ok;
    }
    const nowMs = machine.clock.wallMs();
    showFacts(
      [
        ["webhook", value.id],
        ["url", value.url],
        ["events", eventsText(value)],
        ["state", webhookStateInWords(value)],
        ["disabled", relativeTime(value.disabled_at, nowMs)],
        ["full", relativeTime(value.full_since, nowMs)],
        ["failing", relativeTime(value.failing_since, nowMs)],
        ["dropped", value.dropped_events === 0 ? "" : `${value.dropped_events} events`],
        ["created", relativeTime(value.created_at, nowMs)],
      ],
      terminal,
    );
    return EXIT.ok;
  });
}

function eventsText({ events }: WebhookView): string {
  return events === null ? "all" : events.join(" ");
}
