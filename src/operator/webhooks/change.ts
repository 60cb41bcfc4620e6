import { beyondSpec } from "../../api/api.ts";
import { EVENT_TYPES } from "../../api/wire/event-types.ts";
import { receiverOf, webhookStateInWords } from "../../api/words/webhooks.ts";
import { nearest } from "../../manifest/nearest.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { makeConfirmedChange } from "../confirmed-change.ts";
import type { OperatorContext } from "../context.ts";
import { defined } from "../defined.ts";
import { isUnknownOperation } from "../failure.ts";
import { flagPlaces } from "../files/places.ts";
import type { OperatorFlags } from "../flags.ts";
import { withService } from "../operator.ts";
import { refuseMissingOperation, refuseUsage } from "../refuse.ts";
import { NO_WEBHOOKS, withWebhook } from "./find.ts";

/** `webhooks create URL`: prints the secret once, alone on stdout. */
export async function webhooksCreate(
  flags: OperatorFlags,
  context: OperatorContext,
  url: string | undefined,
): Promise<ExitCode> {
  const { terminal } = context;
  if (url === undefined || refuseStrangeEvent(flags, context)) return EXIT.usage;
  const body = { url, ...defined({ events: flags.event }) };
  return withService(flags, context, async (service) => {
    if (flags.dryRun === true) return service.showRequest(beyondSpec.createWebhook, { body }, flags.json === true);
    const result = await service.call(beyondSpec.createWebhook, { body });
    if (result.kind !== "ok") {
      if (isUnknownOperation(result)) return refuseMissingOperation(...NO_WEBHOOKS, terminal);
      return service.failed(result, { body, places: flagPlaces({ url: "URL", events: "--event" }) });
    }
    const { value, document } = result.value;
    if (flags.json === true) {
      terminal.json(document);
      return EXIT.ok;
    }
    terminal.note(`The webhook ${value.id} sends to ${receiverOf(value)}. Its secret is shown only once:`);
    terminal.print(value.secret);
    return EXIT.ok;
  });
}

/** `webhooks update WEBHOOK`: URL, events, disabled or not. Asks before it disables one. */
export async function webhooksUpdate(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  const { terminal } = context;
  const { receiver: url, event, allEvents, enable, disable } = flags;
  if (refuseStrangeEvent(flags, context)) return EXIT.usage;
  if (event !== undefined && allEvents === true) {
    return refuseUsage("--event and --all-events exclude each other", "give one of them", terminal);
  }
  if (enable === true && disable === true) {
    return refuseUsage("--enable and --disable exclude each other", "give one of them", terminal);
  }
  const isDisabling = disable === true;
  const body = defined({
    url,
    events: allEvents === true ? null : event,
    disabled: isDisabling || enable === true ? isDisabling : undefined,
  });
  if (Object.keys(body).length === 0) {
    const fix = "give --receiver URL, --event TYPE, --all-events, --disable or --enable";
    return refuseUsage("nothing is to be changed", fix, terminal);
  }
  return withWebhook(flags, context, name, (service, { value: webhook }) =>
    makeConfirmedChange(
      service,
      {
        row: beyondSpec.changeWebhook,
        input: { parameters: { webhook_id: webhook.id }, body },
        explain() {
          if (!isDisabling) return null;
          terminal.note(
            `This disables the webhook to ${receiverOf(webhook)}, and gives up what waits to be delivered.`,
          );
          return "Disable it?";
        },
        missing: ["does not change webhooks", "remove it, and create another one"],
        done: (changed) =>
          `The webhook to ${receiverOf(changed)} is changed (${changed.id}): ${webhookStateInWords(changed)}.`,
        places: flagPlaces({ url: "--receiver", events: "--event" }),
      },
      flags,
      context,
    ),
  );
}

/** `webhooks remove WEBHOOK`: also what it was sent, and what was still to be sent. Asks once at a terminal. */
export async function webhooksRemove(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  return withWebhook(flags, context, name, (service, { value: webhook }) =>
    makeConfirmedChange(
      service,
      {
        row: beyondSpec.deleteWebhook,
        input: { parameters: { webhook_id: webhook.id } },
        explain() {
          context.terminal.note(
            `This deletes the webhook to ${receiverOf(webhook)}, and what waits to be delivered to it.`,
          );
          return "Delete it?";
        },
        missing: NO_WEBHOOKS,
        done: () => `The webhook to ${receiverOf(webhook)} is deleted (${webhook.id}).`,
      },
      flags,
      context,
    ),
  );
}

/** Reports an event type that does not exist. */
function refuseStrangeEvent({ event }: OperatorFlags, { terminal }: OperatorContext): boolean {
  const strange = event?.find((type) => !EVENT_TYPES.some((each) => each === type));
  if (strange === undefined) return false;
  const meant = nearest(strange, EVENT_TYPES);
  const fix = meant === undefined ? `it is one of ${EVENT_TYPES.join(", ")}` : `did you mean ${meant}?`;
  refuseUsage(`--event '${strange}' is not a type of events`, fix, terminal);
  return true;
}
