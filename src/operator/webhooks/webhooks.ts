import { beyondSpec } from "../../api/api.ts";
import type { WebhookView } from "../../api/webhooks.ts";
import { receiverOf, webhookState, webhookStateInWords } from "../../api/words/webhooks.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import type { OperatorCommand, OperatorContext } from "../context.ts";
import type { OperatorFlags } from "../flags.ts";
import type { ListView } from "../lists/columns.ts";
import { showFacts } from "../lists/show-facts.ts";
import { showList } from "../lists/show-list.ts";
import { withService } from "../operator.ts";
import { onlyOne, refuseUsage } from "../refuse.ts";
import type { Answer, Service } from "../service.ts";
import { timeAgo } from "../times.ts";

const webhooksView: ListView<WebhookView> = {
  headers: ["receiver", "state", "events", "dropped", "created", "id"],
  prose: ["events"],
  spare: ["dropped", "events", "created"],
  row: (webhook, now) => [
    receiverOf(webhook),
    webhookState(webhook),
    eventsText(webhook),
    String(webhook.dropped_events),
    timeAgo(webhook.created_at, now),
    webhook.id,
  ],
  id: ({ id }) => id,
  empty: "There are no webhooks. To create one: robot-policy webhooks create https://RECEIVER/PATH",
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
      const since = (iso: string | null) => timeAgo(iso, service.now());
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

export const NO_WEBHOOKS = ["has no webhooks", "look at the changes instead: robot-policy audit"] as const;

/** Runs `act` with the webhook of this id, URL or host, if there is exactly one. */
export async function withWebhook(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
  act: (service: Service, webhook: Answer<WebhookView>) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { terminal } = context;
  // No path parameter: a URL is a name, too.
  if (name === undefined || name.trim() === "") {
    return refuseUsage("the webhook has no name", "give its id, URL or host, as list shows it", terminal);
  }
  return withService(flags, context, async (service) => {
    const result = await service.listAll(beyondSpec.listWebhooks, ({ items }) => items);
    if (result.kind !== "ok") return service.failed(result, { missing: NO_WEBHOOKS });
    const { records } = result.value;
    const own = records.filter(({ value }) => value.id === name || value.url === name);
    const found = own.length > 0 ? own : records.filter(({ value }) => receiverOf(value) === name);
    const words = {
      none: `no webhook has the id, URL or host ${name}`,
      fix: "robot-policy webhooks list shows all webhooks",
      several: `webhooks send to ${name}`,
    };
    const webhook = onlyOne(found, ({ value }) => value.id, words, terminal);
    return typeof webhook === "number" ? webhook : act(service, webhook);
  });
}
