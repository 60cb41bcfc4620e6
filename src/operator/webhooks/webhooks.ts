import { beyondSpec } from "../../api/api.ts";
import { SECRET_OVERLAP_HOURS, type WebhookView } from "../../api/webhooks.ts";
import { EVENT_TYPES } from "../../api/wire/event-types.ts";
import { receiverOf, webhookState } from "../../api/words/webhooks.ts";
import { defined } from "../../platform/defined.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { makeChange } from "../change.ts";
import type { OperatorCommand, OperatorContext } from "../context.ts";
import { flagPlaces } from "../files/places.ts";
import type { OperatorFlags } from "../flags.ts";
import type { ListView } from "../lists/columns.ts";
import { showList } from "../lists/show-list.ts";
import { withService } from "../operator.ts";
import { onlyOne, refuse, refuseUsage, wordFix } from "../refuse.ts";
import type { Service } from "../service.ts";
import { timeAgo } from "../times.ts";

const NO_WEBHOOKS = ["has no webhooks", "look at the changes instead: robot-policy audit"] as const;

const webhooksView: ListView<WebhookView> = {
  headers: ["receiver", "state", "last error", "failed", "events", "created", "id"],
  prose: ["last error", "events"],
  spare: ["failed", "events", "created"],
  row: (webhook, now) => [
    receiverOf(webhook),
    webhookState(webhook),
    webhook.last_error ?? "",
    timeAgo(webhook.last_error_at, now),
    webhook.events === null ? "all" : webhook.events.join(" "),
    timeAgo(webhook.created_at, now),
    webhook.id,
  ],
  id: ({ id }) => id,
  empty: "There are no webhooks. To create one: robot-policy webhooks create https://RECEIVER/PATH",
};

/** `webhooks list`: where events are sent, and whether that works. */
export const webhooksList: OperatorCommand = (flags, context) =>
  withService(flags, context, (service) => {
    const load = () => service.listAll(beyondSpec.listWebhooks, ({ items }) => items);
    return showList(service, load, webhooksView, { missing: NO_WEBHOOKS });
  });

/** `webhooks create URL`: prints the secret once, alone on stdout. */
export const webhooksCreate: OperatorCommand = async (flags, context, url) => {
  const { terminal } = context;
  const strange = flags.event?.find((type) => !EVENT_TYPES.some((each) => each === type));
  if (strange !== undefined) {
    return refuseUsage(`--event '${strange}' is not a type of events`, wordFix(strange, EVENT_TYPES), terminal);
  }
  if (url === undefined) return EXIT.usage;
  const body = { url, ...defined({ events: flags.event }) };
  return withService(flags, context, (service) =>
    makeChange(service, {
      row: beyondSpec.createWebhook,
      input: { body },
      missing: NO_WEBHOOKS,
      places: flagPlaces({ url: "URL", events: "--event" }),
      show(webhook) {
        terminal.note(`The webhook ${webhook.id} sends to ${receiverOf(webhook)}. Its secret is shown only once:`);
        terminal.print(webhook.secret);
      },
    }),
  );
};

/** `webhooks test WEBHOOK`: sends an event that says nothing, and shows what the receiver answered. */
export const webhooksTest: OperatorCommand = (flags, context, name) =>
  withWebhook(flags, context, name, async (service, webhook) => {
    const input = { parameters: { webhook_id: webhook.id } };
    if (flags.dryRun === true) return service.showRequest(beyondSpec.testWebhook, input);
    const result = await service.call(beyondSpec.testWebhook, input);
    if (result.kind !== "ok") return service.failed(result, { missing: NO_WEBHOOKS });
    const { value, document } = result.value;
    const receiver = receiverOf(webhook);
    if (!value.delivered) {
      const what = `the test event was not delivered to ${receiver}: ${value.error ?? "unknown"}`;
      return refuse(
        { code: "not-delivered", what, fix: "mend the receiver, then test it again" },
        EXIT.rejected,
        service.terminal,
      );
    }
    return service.answer(document, () => service.terminal.print(`The test event is delivered to ${receiver}.`));
  });

/** `webhooks rotate WEBHOOK`: prints the new secret once, alone on stdout. */
export const webhooksRotate: OperatorCommand = (flags, context, name) =>
  withWebhook(flags, context, name, (service, { id }) =>
    makeChange(service, {
      row: beyondSpec.rotateWebhook,
      input: { parameters: { webhook_id: id } },
      missing: NO_WEBHOOKS,
      show(rotated) {
        const receiver = receiverOf(rotated);
        service.terminal.note(`For ${SECRET_OVERLAP_HOURS} hours both secrets sign what is sent to ${receiver}.`);
        service.terminal.note("The new one is shown only once:");
        service.terminal.print(rotated.secret);
      },
    }),
  );

/** `webhooks remove WEBHOOK`: also what was still to be sent. Asks once at a terminal. */
export const webhooksRemove: OperatorCommand = (flags, context, name) =>
  withWebhook(flags, context, name, (service, webhook) => {
    const receiver = receiverOf(webhook);
    return makeChange(service, {
      row: beyondSpec.deleteWebhook,
      input: { parameters: { webhook_id: webhook.id } },
      explain() {
        service.terminal.note(`This deletes the webhook to ${receiver}, and what waits to be delivered to it.`);
        return "Delete it?";
      },
      missing: NO_WEBHOOKS,
      show: () => service.terminal.print(`The webhook to ${receiver} is deleted (${webhook.id}).`),
    });
  });

/** Runs `act` with the webhook of this id, URL or host, if there is exactly one. */
async function withWebhook(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
  act: (service: Service, webhook: WebhookView) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { terminal } = context;
  // No path parameter: a URL is a name, too.
  if (name === undefined || name.trim() === "") {
    return refuseUsage("the webhook has no name", "give its id, URL or host, as list shows it", terminal);
  }
  return withService(flags, context, async (service) => {
    const result = await service.listAll(beyondSpec.listWebhooks, ({ items }) => items);
    if (result.kind !== "ok") return service.failed(result, { missing: NO_WEBHOOKS });
    const webhooks = result.value.records.map(({ value }) => value);
    const own = webhooks.filter(({ id, url }) => id === name || url === name);
    const found = own.length > 0 ? own : webhooks.filter((webhook) => receiverOf(webhook) === name);
    const words = {
      none: `no webhook has the id, URL or host ${name}`,
      fix: "robot-policy webhooks list shows all webhooks",
      several: `webhooks send to ${name}`,
    };
    const webhook = onlyOne(found, ({ id }) => id, words, terminal);
    return typeof webhook === "number" ? webhook : act(service, webhook);
  });
}
