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
