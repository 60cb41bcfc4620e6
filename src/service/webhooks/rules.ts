import type { Sent } from "../kernel/outgoing.ts";
import type { Tables } from "../kernel/store/tables.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface WebhookSettings {
  /** Hosts, addresses and networks (CIDR) that may be reached although they are not public. http only to hosts that stand here. */
  readonly allow: readonly string[];
  /** From the look-up of the name to the end of the answer. */
  readonly timeoutMs: number;
  /** How often due deliveries are looked for. */
  readonly tickMs: number;
  /** Pauses before the second and each further attempt. */
  readonly retryMs: readonly number[];
  /** A webhook to which nothing was delivered for this long is disabled when the next delivery is given up. */
  readonly disableAfterMs: number;
  /** Pending deliveries of a webhook; events beyond are dropped. */
  readonly pendingMaximum: number;
}

export const WEBHOOK_SETTINGS: WebhookSettings = {
  allow: [],
  timeoutMs: 15 * SECOND_MS,
  tickMs: 500,
  // The schedule that the Standard Webhooks specification gives as an example.
  retryMs: [5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS],
  disableAfterMs: 5 * DAY_MS,
  pendingMaximum: 10_000,
};

/** How long deliveries are kept. */
export const KEPT_MS = 30 * DAY_MS;

/** A claimed delivery, with what it needs of its webhook. */
export type Claimed = Pick<
  Tables["webhook_deliveries"],
  "id" | "organization_id" | "webhook_id" | "event_id" | "body" | "attempts"
> &
  Pick<Tables["webhooks"], "url" | "secret" | "failing_since">;

/** What was sent to the end, and judged: an attempt that the service gave up says nothing. */
export type Ended = Exclude<Sent, { readonly state: "abandoned" }>;

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
  sent: Ended,
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
