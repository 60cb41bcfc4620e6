import type { Clock } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log/log.ts";

/** Shortest time between two log lines: a thousand failing requests a second must not log a thousand lines. */
const PERIOD_MS = 10_000;

/** Logs requests that failed because of the store: the first at once, later ones as a count. */
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
