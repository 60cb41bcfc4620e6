import type { Tables } from "../kernel/store/tables.ts";
import type { Sent } from "../kernel/outgoing.ts";
import type { WebhookSettings } from "./settings.ts";

/** A claimed delivery, with what it needs of its webhook. */
export type Claimed = Pick<
  Tables["webhook_deliveries"],
  "id" | "organization_id" | "webhook_id" | "event_id" | "body" | "attempts"
> &
  Pick<Tables["webhooks"], "url" | "secret" | "failing_since">;

/** What an attempt comes to. */
export type Verdict =
  | { readonly state: "delivered" }
  | { readonly state: "retry"; readonly afterMs: number }
  /** No more attempts. `disables`: nor any other event for this webhook, for this reason. */
  | { readonly state: "failed"; readonly disables: Tables["webhooks"]["disabled_reason"] };

/** Random change of pauses, as a fraction: receivers that come back are not met by everything at once. */
const JITTER = 0.1;
const GONE = 410;

/** @param unit a random number in [0, 1). */
export function judge(
  { attempts, failing_since: failingSince }: Pick<Claimed, "attempts" | "failing_since">,
  sent: Exclude<Sent, { readonly state: "abandoned" }>,
  nowMs: number,
  { retryMs, disableAfterMs }: WebhookSettings,
  unit: number,
): Verdict {
  if (sent.state === "answered" && sent.status >= 200 && sent.status < 300) return { state: "delivered" };
  if (sent.state === "answered" && sent.status === GONE) return { state: "failed", disables: "gone" };
  const pauseMs = retryMs[attempts];
  if (pauseMs !== undefined) return { state: "retry", afterMs: pauseMs * (1 + (unit * 2 - 1) * JITTER) };
  const isLost = failingSince !== null && nowMs - Date.parse(failingSince) >= disableAfterMs;
  return { state: "failed", disables: isLost ? "failing" : null };
}
