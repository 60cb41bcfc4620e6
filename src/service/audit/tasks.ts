import { isoTime } from "../../platform/clock.ts";
import type { ServiceMachine } from "../kernel/machine.ts";
import type { Store } from "../kernel/store/store.ts";
import type { Task } from "../kernel/tasks/task-loop.ts";
import { auditedBeforeNewest, pruneAudit } from "./queries.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Entries deleted in one transaction, so that requests do not wait long. */
const BATCH = 500;
/** Pause after a transaction, for the writes of requests. */
const REST_MS = 50;
/** Number of newest entries that are always kept. */
export const NEWEST_KEPT = 100;

/**
 * Deletes audit entries that are older than `retentionDays`.
 *
 * With a clock that is far ahead, every entry would seem old. So age counts from the clock or the time of the entry number `NEWEST_KEPT`
 * from the end, whichever is earlier: nothing is lost if the clock is corrected before that many changes.
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
    const before = isoTime(nowMs - retentionDays * DAY_MS);
    let pruned = 0;
    let count = BATCH;
    while (count === BATCH && !signal.aborted) {
      count = await store.write((transaction) => pruneAudit(transaction, before, BATCH));
      pruned += count;
      if (count === BATCH) await clock.sleep(REST_MS, signal);
    }
    if (pruned > 0) log.info("audit_pruned", { entries: pruned, before });
  }

  return { name: "prune-audit", intervalMs: HOUR_MS, ignoresNudges: true, run: prune };
}
