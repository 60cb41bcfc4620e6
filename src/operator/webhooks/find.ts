import { beyondSpec } from "../../api/api.ts";
import type { WebhookView } from "../../api/webhooks.ts";
import { receiverOf } from "../../api/words/webhooks.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import type { OperatorFlags } from "../flags.ts";
import { withService } from "../operator.ts";
import { onlyOne, refuseUsage } from "../refuse.ts";
import type { Answer, Service } from "../service.ts";

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
