import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";

/** How often an outage is told of: a thousand requests a second must not become a thousand lines. */
const PERIOD_MS = 10_000;

/** Tells of requests that failed because the store did: the first at once, then now and then how many there were. */
export function createOutageLog({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  let told_ms = Number.NEGATIVE_INFINITY;
  let untold = 0;
  return (request_id: string, reason: string): void => {
    untold += 1;
    if (clock.monotonic_ms() - told_ms < PERIOD_MS) return;
    log.error("store_unavailable", { request_id, reason, requests: untold });
    told_ms = clock.monotonic_ms();
    untold = 0;
  };
}
