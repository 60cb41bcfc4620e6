import { beyondSpec } from "../../api/api.ts";
import type { WebhookView } from "../../api/webhooks.ts";
import { EVENT_TYPES } from "../../api/wire/event-types.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { receiverOf, REMOVED, ROTATED, testedInWords, WEBHOOKS } from "../../views/webhooks.ts";
import { bodyOf, flagPlaces } from "../body.ts";
import { makeChange } from "../change.ts";
import { command, type OperatorRow } from "../command.ts";
import { type Resource, withFound } from "../find.ts";
import { CHANGE, DRY_RUN, LIST, wordsOf } from "../flags.ts";
import { showList } from "../lists/show-list.ts";
import { tableOf } from "../lists/shown.ts";
import { refuse } from "../refuse.ts";
import type { Service } from "../service.ts";

const CREATE = {
  event: wordsOf(
    "<type>",
    `type of events to send, repeatable: ${EVENT_TYPES.join(", ")} (default: all, also types added later)`,
    EVENT_TYPES,
    "a type of events",
    { place: "events" },
  ),
  ...DRY_RUN,
};

/** Where the service sends events. */
export const webhookCommands: readonly OperatorRow[] = [
  command({
    name: "webhooks list",
    aliases: ["ls"],
    summary: "list the webhooks, whether they work, and why not",
    flags: LIST,
    examples: ["robot-policy webhooks list"],
    run: async (service) => showList(service, await listWebhooks(service), LISTED),
  }),
  command({
    name: "webhooks create",
    summary: "create a webhook; prints the secret that verifies its signatures, once",
    argument: "URL",
    flags: CREATE,
    examples: [
      "robot-policy webhooks create https://hooks.example.com/robots",
      "robot-policy webhooks create https://hooks.example.com/robots --event robot.frozen --event robot.offline > secret",
    ],
    run: (service, flags, url) =>
      makeChange(service, {
        row: beyondSpec.createWebhook,
        input: { body: { url, ...bodyOf(CREATE, flags) } },
        places: flagPlaces(CREATE, { url: "URL" }),
        show(webhook) {
          const { terminal } = service;
          terminal.note(`The webhook ${webhook.id} sends to ${receiverOf(webhook)}. Its secret is shown only once:`);
          terminal.print(webhook.secret);
        },
      }),
  }),
  command({
    name: "webhooks test",
    summary: "send a test event to a webhook, named by its id, URL or host; exit 6 if the receiver fails",
    argument: "WEBHOOK",
    flags: DRY_RUN,
    examples: ["robot-policy webhooks test hooks.example.com"],
    run: (service, _flags, name) => withFound(service, WEBHOOK, name, (webhook) => testWebhook(service, webhook)),
  }),
  command({
    name: "webhooks rotate",
    summary: "give a webhook a new secret; the old one also signs for a day",
    argument: "WEBHOOK",
    flags: DRY_RUN,
    examples: ["robot-policy webhooks rotate hooks.example.com > secret"],
    run: (service, _flags, name) =>
      withFound(service, WEBHOOK, name, ({ id }) =>
        makeChange(service, {
          row: beyondSpec.rotateWebhook,
          input: { parameters: { webhook_id: id } },
          show(rotated) {
            const { terminal } = service;
            terminal.note(`The webhook to ${receiverOf(rotated)} has a new secret. ${ROTATED}`);
            terminal.note("It is shown only once:");
            terminal.print(rotated.secret);
          },
        }),
      ),
  }),
  command({
    name: "webhooks remove",
    aliases: ["rm"],
    summary: "delete a webhook, and the events that wait for it",
    argument: "WEBHOOK",
    flags: CHANGE,
    examples: ["robot-policy webhooks remove hooks.example.com"],
    run: (service, _flags, name) =>
      withFound(service, WEBHOOK, name, (webhook) => {
        const receiver = receiverOf(webhook);
        return makeChange(service, {
          row: beyondSpec.deleteWebhook,
          input: { parameters: { webhook_id: webhook.id } },
          explain() {
            service.terminal.note(`This deletes the webhook to ${receiver}. ${REMOVED}`);
            return "Delete it?";
          },
          show: () => service.terminal.print(`The webhook to ${receiver} is deleted (${webhook.id}).`),
        });
      }),
  }),
];

export function listWebhooks(service: Service) {
  return service.listAll(beyondSpec.listWebhooks, ({ items }) => items);
}

const LISTED = {
  ...tableOf(WEBHOOKS),
  empty: "There are no webhooks. To create one: robot-policy webhooks create https://RECEIVER/PATH",
};

/** An id and a whole URL come before the host, which several may have. */
const WEBHOOK: Resource<WebhookView> = {
  noun: "webhook",
  list: "webhooks list",
  by: "id, URL or host",
  load: listWebhooks,
  idOf: ({ id }) => id,
  namesOf: (webhook) => [webhook.url, receiverOf(webhook)],
  takesAnyText: true,
};

/** Sends an event that says nothing, and shows what the receiver answered. */
async function testWebhook(service: Service, webhook: WebhookView): Promise<ExitCode> {
  const input = { parameters: { webhook_id: webhook.id } };
  if (service.flags.dryRun === true) return service.showRequest(beyondSpec.testWebhook, input);
  const result = await service.call(beyondSpec.testWebhook, input);
  if (result.kind !== "ok") return service.failed(result);
  const { value, document } = result.value;
  if (!value.delivered) {
    const what = `the ${testedInWords(webhook, value.error ?? "unknown")}`;
    const fix = "mend the receiver, then test it again";
    return refuse({ code: "not-delivered", what, fix }, EXIT.rejected, service.terminal);
  }
  return service.answer(document, () => service.terminal.print(`The ${testedInWords(webhook, null)}.`));
}
