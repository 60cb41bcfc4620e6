import type { Log } from "../../../platform/log/log.ts";
import { StoreUnavailableError, unavailable } from "../store/unavailable.ts";

/** Items whose failure is remembered, so that it is logged once; the oldest are forgotten, and logged again. */
const REMEMBERED_MAXIMUM = 1000;

/** Runs the work on one of many items. A failure is logged once per reason, and the other items continue. */
export interface FailingItems {
  /**
   * A failed item does not fail the run: otherwise all items would wait for the backoff of one.
   *
   * @throws StoreUnavailableError, which would affect the other items as well.
   */
  attempt(id: string, work: () => Promise<void>): Promise<void>;
}

export function createFailingItems(task: string, log: Log): FailingItems {
  const reasons = new Map<string, string>();
  return {
    async attempt(id, work) {
      try {
        await work();
        reasons.delete(id);
      } catch (error) {
        const cause = unavailable(error);
        if (cause instanceof StoreUnavailableError) throw cause;
        const reason = cause instanceof Error ? cause.message : String(cause);
        if (reasons.get(id) === reason) return;
        log.error("task_item_failed", { task, id, error: cause instanceof Error ? (cause.stack ?? reason) : reason });
        const [oldest] = reasons.keys();
        if (oldest !== undefined && reasons.size >= REMEMBERED_MAXIMUM) reasons.delete(oldest);
        reasons.set(id, reason);
      }
    },
  };
}
