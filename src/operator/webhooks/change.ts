import { beyondSpec } from "../../api/api.ts";
import { EVENT_TYPES } from "../../api/wire/event-types.ts";
import { receiverOf, webhookStateInWords } from "../../api/words/webhooks.ts";
import { EXIT } from "../../platform/terminal.ts";
import { makeChange } from "../change.ts";
import type { OperatorCommand, OperatorContext } from "../context.ts";
import { defined } from "../../platform/defined.ts";
import { flagPlaces } from "../files/places.ts";
import type { OperatorFlags } from "../flags.ts";
import { withService } from "../operator.ts";
import { refuseUsage, wordFix } from "../refuse.ts";
import { NO_WEBHOOKS, withWebhook } from "./webhooks.ts";

/** `webhooks create URL`: prints the secret once, alone on stdout. */
export const webhooksCreate: OperatorCommand = async (flags, context, url) => {
  const { terminal } = context;
  if (url === undefined || refuseStrangeEvent(flags, context)) return EXIT.usage;
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

/** `webhooks update WEBHOOK`: URL, events, disabled or not. Asks before it disables one. */
export const webhooksUpdate: OperatorCommand = async (flags, context, name) => {
  const { terminal } = context;
  const { receiver: url, event, allEvents, enable, disable } = flags;
  if (refuseStrangeEvent(flags, context)) return EXIT.usage;
  const isDisabling = disable === true;
  const body = defined({
    url,
    events: allEvents === true ? null : event,
    disabled: isDisabling || enable === true ? isDisabling : undefined,
  });
  if (Object.keys(body).length === 0) {
    const fix = "give --receiver URL, --event TYPE, --all-events, --disable or --enable";
    return refuseUsage("there is nothing to change", fix, terminal);
  }
  return withWebhook(flags, context, name, (service, { value: webhook }) =>
    makeChange(service, {
      row: beyondSpec.changeWebhook,
      input: { parameters: { webhook_id: webhook.id }, body },
      explain() {
        if (!isDisabling) return null;
        terminal.note(`This disables the webhook to ${receiverOf(webhook)}, and gives up what waits to be delivered.`);
        return "Disable it?";
      },
      missing: ["does not change webhooks", "remove it, and create another one"],
      places: flagPlaces({ url: "--receiver", events: "--event" }),
      show(changed) {
        const state = webhookStateInWords(changed);
        terminal.print(`The webhook to ${receiverOf(changed)} is changed (${changed.id}): ${state}.`);
      },
    }),
  );
};

/** `webhooks remove WEBHOOK`: also what it was sent, and what was still to be sent. Asks once at a terminal. */
export const webhooksRemove: OperatorCommand = (flags, context, name) =>
  withWebhook(flags, context, name, (service, { value: webhook }) => {
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

/** Reports an event type that does not exist. */
function refuseStrangeEvent({ event }: OperatorFlags, { terminal }: OperatorContext): boolean {
  const strange = event?.find((type) => !EVENT_TYPES.some((each) => each === type));
  if (strange === undefined) return false;
  refuseUsage(`--event '${strange}' is not a type of events`, wordFix(strange, EVENT_TYPES), terminal);
  return true;
}
