/** What operators see of webhooks. */
import type { WebhookView } from "../api/webhooks.ts";
import { type Listing, past } from "./view.ts";

/** `receiver.example`: the rest of such URLs often is a secret. */
export function receiverOf({ url }: Pick<WebhookView, "url">): string {
  return URL.parse(url)?.host ?? url;
}

function stateOf({ last_error: lastError }: WebhookView): "works" | "failing" {
  return lastError === null ? "works" : "failing";
}

export const WEBHOOKS: Listing<WebhookView> = {
  noun: "webhook",
  columns: [
    { name: "receiver", show: receiverOf, weight: 2 },
    { name: "state", show: (webhook) => ({ kind: "state", state: stateOf(webhook) }) },
    { name: "last error", show: ({ last_error: error }) => error, weight: 2 },
    { name: "failed", show: ({ last_error_at: at }) => past(at), from: "medium" },
    { name: "events", show: ({ events }) => events?.join(", ") ?? "all", from: "wide", weight: 2 },
    { name: "created", show: ({ created_at: at }) => past(at), from: "wide" },
    { name: "id", show: ({ id }) => id, from: "terminal" },
  ],
  filters: [{ name: "state", valuesOf: (webhook) => [stateOf(webhook)] }],
  empty: "There are no webhooks",
};

/** What the rotation of a secret means for its receiver. */
export const ROTATED = "For a day both secrets sign: copy the new one to the receiver until then.";

/** What a removal ends. */
export const REMOVED = "What waits to be delivered is not sent, and its secret is deleted.";

/** What became of a test event: `test event is delivered to …`. @param error why it failed; null where it was delivered. */
export function testedInWords(webhook: WebhookView, error: string | null): string {
  const receiver = receiverOf(webhook);
  return error === null
    ? `test event is delivered to ${receiver}`
    : `test event was not delivered to ${receiver}: ${error}`;
}
