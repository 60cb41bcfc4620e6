import type { Clock } from "../clock.ts";
import type { Notify } from "./notify.ts";

/**
 * Gives signs of life until the signal aborts, twice in the time that the service manager allows between two (sd_watchdog_enabled(3)). They
 * need a turning event loop and nothing else: a database or another service that is down is no reason to restart the program.
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
