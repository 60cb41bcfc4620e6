import type { ServiceMachine } from "../kernel/machine.ts";
import type { Store } from "../kernel/store/store.ts";
import type { Task } from "../kernel/tasks/task.ts";
import { pruneRefusals } from "../robots/index.ts";
import { auditedBeforeNewest, pruneAudit } from "./queries.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Entries of one write, so that no request waits for all of them. */
const BATCH = 500;
/** After a write, how long requests have the store for themselves. */
const REST_MS = 50;
/** Entries that stay whatever the clock says. */
export const NEWEST_KEPT = 100;

/**
 * Lets go of audit entries that are older than `retentionDays`, oldest first, until none is left, and of refusals as old.
 *
 * Old is what is old by the clock and by the log itself: with the clock far ahead everything would be. So age also counts from
 * the newest entries, of which the last `NEWEST_KEPT` stay: a clock that is set right before so many changes costs nothing.
 */
export function createAuditPruning(
  store: Store,
  { clock, log }: Pick<ServiceMachine, "clock" | "log">,
  retentionDays: number,
): Task {
  async function prune(signal: AbortSignal): Promise<void> {
    const newest = await auditedBeforeNewest(store.reader, NEWEST_KEPT);
    if (newest === null) return;
    const nowMs = Math.min(clock.wallMs(), Date.parse(newest));
    const before = new Date(nowMs - retentionDays * DAY_MS).toISOString();
    let pruned = 0;
    let count = BATCH;
    while (count === BATCH && !signal.aborted) {
      count = await store.write((transaction) => pruneAudit(transaction, before, BATCH));
      pruned += count;
      if (count === BATCH) await clock.sleep(REST_MS, signal);
    }
    await store.write((transaction) => pruneRefusals(transaction, before));
    if (pruned > 0) log.info("audit_pruned", { entries: pruned, before });
  }

  return { name: "prune-audit", intervalMs: HOUR_MS, ignoresNudges: true, run: prune };
}
