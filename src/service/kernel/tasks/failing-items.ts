import type { Log } from "../../../platform/log/log.ts";
import { StoreUnavailableError, unavailable } from "../store/unavailable.ts";

/** Items whose failure is remembered, so that it is told once; the oldest are told again. */
const REMEMBERED_MAXIMUM = 1000;

/** Work on one of many items. One that fails is told of, once for each reason, and the others go on. */
export interface FailingItems {
  /**
   * The run does not count as failed for it: that would have all others wait for the retries of one.
   *
   * @throws StoreUnavailableError, which the others would meet too.
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
