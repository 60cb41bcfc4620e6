import { beyondSpec } from "../../api/api.ts";
import type { WebhookView } from "../../api/webhooks.ts";
import { receiverOf } from "../../api/words/webhooks.ts";
import type { Answered } from "../../client/operation-client.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import { isUnknownOperation } from "../failure.ts";
import type { Failure } from "../failure.ts";
import type { OperatorFlags } from "../flags.ts";
import { withService } from "../operator.ts";
import { refuseAmbiguous, refuseMissingOperation, refuseUnknown, refuseUsage } from "../refuse.ts";
import type { Service } from "../service.ts";

export type FoundWebhook = Pick<Answered<WebhookView>, "value" | "document">;

export const NO_WEBHOOKS = ["has no webhooks", "look at the changes instead: robot-policy audit"] as const;

/** Runs `act` with the webhook of this id, URL or host, if there is exactly one. */
export async function withWebhook(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
  act: (service: Service, webhook: FoundWebhook) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { terminal } = context;
  // No path parameter: a URL is a name, too.
  if (name === undefined || name.trim() === "") {
    return refuseUsage("the webhook has no name", "give its id, URL or host, as list shows it", terminal);
  }
  return withService(flags, context, async (service) => {
    const result = await service.listAll(beyondSpec.listWebhooks, ({ items }) => items);
    if (result.kind !== "ok") return failedWebhooks(service, result, context);
    const all = result.value.records.map(({ item: value, document }): FoundWebhook => ({ value, document }));
    const own = all.filter(({ value }) => value.id === name || value.url === name);
    const [first, ...more] = own.length > 0 ? own : all.filter(({ value }) => receiverOf(value) === name);
    if (first === undefined) {
      const fix = "robot-policy webhooks list shows all webhooks";
      return refuseUnknown(`no webhook has the id, URL or host ${name}`, fix, terminal);
    }
    if (more.length === 0) return act(service, first);
    const ids = [first, ...more].map(({ value }) => value.id);
    return refuseAmbiguous(`${ids.length} webhooks send to ${name}`, ids, terminal);
  });
}

/** Reports a failure, also of a service without webhooks. */
export function failedWebhooks(service: Service, failure: Failure, { terminal }: OperatorContext): ExitCode {
  return isUnknownOperation(failure) ? refuseMissingOperation(...NO_WEBHOOKS, terminal) : service.failed(failure);
}
