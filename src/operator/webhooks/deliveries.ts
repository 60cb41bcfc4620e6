import { beyondSpec } from "../../api/api.ts";
import type { DeliveryView } from "../../api/webhooks.ts";
import { lastAnswerInWords, receiverOf, subjectOfEvent } from "../../api/words/webhooks.ts";
import type { Answered, OperationInput, OperationOf } from "../../client/operation-client.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { relativeTime } from "../../platform/text/relative-time.ts";
import type { OperatorContext } from "../context.ts";
import type { OperatorFlags } from "../flags.ts";
import type { ListView } from "../lists/columns.ts";
import { keepListed } from "../lists/listed.ts";
import { showList } from "../lists/show-list.ts";
import { refusePathParameter } from "../refuse.ts";
import type { Service } from "../service.ts";
import type { Ended } from "../wait.ts";
import { waitTimeout, waitUntilEnded } from "../wait.ts";
import { failedWebhooks, withWebhook } from "./find.ts";
import type { FoundWebhook } from "./find.ts";

/** Shown without `--all`. */
const NEWEST = 100;

const deliveriesView: ListView<DeliveryView> = {
  headers: ["event", "about", "status", "attempts", "last answer", "next try", "when", "id"],
  prose: ["about", "last answer"],
  spare: ["about", "when", "next try", "attempts"],
  row: (delivery, nowMs) => [
    delivery.type,
    subjectOfEvent(delivery),
    delivery.status,
    String(delivery.attempts),
    lastAnswerInWords(delivery),
    relativeTime(delivery.next_attempt_at, nowMs),
    relativeTime(delivery.created_at, nowMs),
    delivery.id,
  ],
  id: ({ id }) => id,
  empty: "There are no such deliveries. This makes one: robot-policy webhooks test WEBHOOK",
};

/** `webhooks deliveries WEBHOOK`: events of the last month, newest first. */
export async function webhooksDeliveries(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  const { status } = flags;
  const isWhole = flags.all === true || status !== undefined;
  return withWebhook(flags, context, name, async (service, { value }) => {
    const load = async () => {
      const result = await service.listAll(beyondSpec.listDeliveries, ({ items }) => items, {
        parameters: { webhook_id: value.id },
        ...(isWhole ? {} : { maximum: NEWEST }),
      });
      if (result.kind !== "ok" || status === undefined) return result;
      return { ...result, value: keepListed(result.value, (delivery) => delivery.status === status) };
    };
    const first = await load();
    if (first.kind !== "ok") return failedWebhooks(service, first, context);
    const shown = await showList(service, load, deliveriesView, flags, context, first);
    if (!isWhole && first.value.records.length === NEWEST) {
      context.terminal.note(`These are the newest ${NEWEST}; --all shows all of the last 30 days.`);
    }
    return shown;
  });
}

/** `webhooks test WEBHOOK`: sends an event that says nothing. */
export async function webhooksTest(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  return withWebhook(flags, context, name, (service, { value }) =>
    deliver(service, value, beyondSpec.testWebhook, { parameters: { webhook_id: value.id } }, flags, context),
  );
}

/** `webhooks resend WEBHOOK DELIVERY`: sends an event again, under the same id. */
export async function webhooksResend(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
  delivery: string | undefined,
): Promise<ExitCode> {
  if (delivery === undefined || refusePathParameter(delivery, context.terminal)) return EXIT.usage;
  return withWebhook(flags, context, name, (service, { value }) => {
    const parameters = { webhook_id: value.id, delivery_id: delivery };
    return deliver(service, value, beyondSpec.resendDelivery, { parameters }, flags, context);
  });
}

type FoundDelivery = Pick<Answered<DeliveryView>, "value" | "document">;

async function deliver(
  service: Service,
  webhook: FoundWebhook["value"],
  row: OperationOf<DeliveryView>,
  input: OperationInput,
  flags: OperatorFlags,
  context: OperatorContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const timeoutMs = waitTimeout(flags, terminal);
  if (timeoutMs === null) return EXIT.usage;
  if (flags.dryRun === true) return service.showRequest(row, input, flags.json === true);
  const result = await service.call(row, input);
  if (result.kind !== "ok") return failedWebhooks(service, result, context);
  const waited =
    flags.wait === true
      ? await waitForAnswer(service, webhook, result.value, timeoutMs, context)
      : { exitCode: EXIT.ok, last: result.value };
  const { value, document } = waited.last;
  if (flags.json === true) terminal.json(document);
  else if (value.status === "delivered") {
    terminal.print(`${value.type} is delivered to ${receiverOf(webhook)} (${value.id}): ${lastAnswerInWords(value)}.`);
  } else if (waited.exitCode === EXIT.ok) {
    terminal.print(`${value.type} is on its way to ${receiverOf(webhook)} (${value.id}).`);
    terminal.note(`robot-policy webhooks deliveries ${webhook.id} shows what becomes of it.`);
  }
  return waited.exitCode;
}

/** Waits until the receiver has answered once, or could not be asked. */
function waitForAnswer(
  service: Service,
  webhook: FoundWebhook["value"],
  first: FoundDelivery,
  timeoutMs: number,
  context: OperatorContext,
) {
  const { id, attempts } = first.value;
  const what = `${first.value.type} waits for ${receiverOf(webhook)}`;
  return waitUntilEnded(
    service,
    {
      first,
      fetch: () => service.call(beyondSpec.getDelivery, { parameters: { webhook_id: webhook.id, delivery_id: id } }),
      look: ({ value }) => ({ lines: [what], summary: what, ended: endOf(value, attempts) }),
      timeoutMs,
      later: `robot-policy webhooks deliveries ${webhook.id} shows what becomes of it`,
    },
    context,
  );
}

function endOf(delivery: DeliveryView, attempts: number): Ended | null {
  if (delivery.status === "delivered") return { exitCode: EXIT.ok, problem: null };
  if (delivery.status === "pending" && delivery.attempts === attempts) return null;
  const isOver = delivery.status === "failed";
  const fix = isOver ? "mend the receiver, then send it again" : "mend the receiver; the service tries again by itself";
  const what = `${delivery.type} was not delivered: ${lastAnswerInWords(delivery)}`;
  return { exitCode: EXIT.rejected, problem: { code: "not-delivered", what, fix } };
}
