import type { Log } from "../../platform/log/log.ts";
import { StoreUnavailableError } from "../../service/console-door.ts";

/** Logs why a look at the store failed; the next one tries again. An unavailable store is reported by requests already. */
export function logFailure(log: Log, event: string, error: unknown): void {
  if (error instanceof StoreUnavailableError) return;
  log.error(event, { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}
