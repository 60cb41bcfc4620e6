import type { WebhookView } from "../webhooks.ts";

/** Texts for webhooks, at a terminal and in a browser. */

export function webhookState({ last_error: lastError }: WebhookView): "works" | "failing" {
  return lastError === null ? "works" : "failing";
}

/** `receiver.example`: the rest of such URLs often is a secret. */
export function receiverOf({ url }: Pick<WebhookView, "url">): string {
  return URL.parse(url)?.host ?? url;
}
