import type { Clock } from "../clock.ts";
import type { Notify } from "./notify.ts";

/**
 * Sends watchdog pings at half the timeout until the signal aborts (sd_watchdog_enabled(3)). They depend only on the event loop: a database
 * or service that is down is no reason to restart the program.
 */
export async function feedWatchdog(
  notify: Pick<Notify, "watchdog" | "watchdogMs">,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  if (notify.watchdogMs === null) return;
  while (!signal.aborted) {
    notify.watchdog();
    await clock.sleep(notify.watchdogMs / 2, signal).catch(() => {});
  }
}
