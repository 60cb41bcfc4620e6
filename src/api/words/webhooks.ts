import type { DeliveryView, WebhookView } from "../webhooks.ts";

/** Texts for webhooks and what they are sent, at a terminal and in a browser. */

const DISABLED_REASONS: ReadonlyMap<string | null, string> = new Map([
  ["gone", "disabled: the receiver answered 410"],
  ["failing", "disabled: the receiver failed for days"],
]);

export type WebhookState = "works" | "failing" | "full" | "disabled";

export function webhookState({
  disabled_at: disabledAt,
  full_since: fullSince,
  failing_since: failingSince,
}: WebhookView): WebhookState {
  if (disabledAt !== null) return "disabled";
  if (fullSince !== null) return "full";
  return failingSince === null ? "works" : "failing";
}

/** `full: new events are dropped`. */
export function webhookStateInWords(webhook: WebhookView): string {
  const state = webhookState(webhook);
  switch (state) {
    case "works":
      return "works";
    case "failing":
      return "failing: deliveries are tried again";
    case "full":
      return "full: new events are dropped";
    case "disabled":
      return DISABLED_REASONS.get(webhook.disabled_reason) ?? "disabled";
  }
}

/** `receiver.example`: the rest of such URLs often is a secret. */
export function receiverOf({ url }: Pick<WebhookView, "url">): string {
  return URL.parse(url)?.host ?? url;
}

/** What the receiver did last: `answered 500`; empty before the first attempt. */
export function lastAnswerInWords({ last_error: lastError, last_status: lastStatus }: DeliveryView): string {
  return lastError ?? (lastStatus === null ? "" : `answered ${lastStatus}`);
}

/** The robot or fleet that an event is about; empty for one about neither. */
export function subjectOfEvent({ body: { data } }: DeliveryView): string {
  const name = typeof data === "object" && data !== null && "name" in data ? data.name : null;
  return typeof name === "string" ? name : "";
}
