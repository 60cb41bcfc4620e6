import type { Clock } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log/log.ts";

/** How often an outage is told of: a thousand requests a second must not become a thousand lines. */
const PERIOD_MS = 10_000;

/** Tells of requests that failed because the store did: the first at once, then now and then how many there were. */
export function createOutageLog({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  let toldMs = Number.NEGATIVE_INFINITY;
  let untold = 0;
  return (requestId: string, reason: string): void => {
    untold += 1;
    if (clock.monotonicMs() - toldMs < PERIOD_MS) return;
    log.error("store_unavailable", { request_id: requestId, reason, requests: untold });
    toldMs = clock.monotonicMs();
    untold = 0;
  };
}
