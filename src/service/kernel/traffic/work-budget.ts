import type { Clock } from "../../../platform/clock.ts";
import { type Answer, refuse } from "../http/answers.ts";
import type { RateLimit } from "./limits.ts";
import type { BeginWork } from "./requester.ts";
import { TokenBuckets } from "./token-buckets.ts";

/** Organizations that are tracked; one that is evicted starts with a full budget. */
const BUCKETS_MAXIMUM = 10_000;
/** How long an organization counts as active after its last work. */
const ACTIVE_MS = 10_000;

/**
 * Limits the time that the service works for each organization: it parses bodies, prints lists, runs transactions, and holds connections
 * to the database. An organization over its budget is refused only while others are active, because otherwise it takes nothing from
 * anybody. Counted per process, as rate limits are.
 */
export interface WorkBudget {
  /** A refusal for an organization over its budget; null for any other. */
  refusal(organizationId: string): Answer | null;
  /** Measures work of the organization. */
  measure(organizationId: string): BeginWork;
}

/** @param limit in milliseconds of work. */
export function createWorkBudget(limit: RateLimit, clock: Pick<Clock, "monotonicMs">): WorkBudget {
  const budgets = new TokenBuckets(limit, BUCKETS_MAXIMUM);
  /** Who worked last, and the last other one before. */
  let last = { organizationId: "", atMs: Number.NEGATIVE_INFINITY };
  let lastOther = last;

  function areOthersActive(organizationId: string, nowMs: number): boolean {
    const other = last.organizationId === organizationId ? lastOther : last;
    return nowMs - other.atMs < ACTIVE_MS;
  }

  return {
    refusal(organizationId) {
      const nowMs = clock.monotonicMs();
      const { isAllowed, waitMs } = budgets.look(organizationId, nowMs);
      if (isAllowed || !areOthersActive(organizationId, nowMs)) return null;
      const retryAfterS = Math.max(1, Math.ceil(waitMs / 1000));
      const detail = `The requests of this organization take too much time of the service; try again in ${retryAfterS} s`;
      return refuse("RateLimited", detail, { "retry-after": String(retryAfterS) });
    },
    measure: (organizationId) => () => {
      const sinceMs = clock.monotonicMs();
      return {
        [Symbol.dispose]() {
          const nowMs = clock.monotonicMs();
          budgets.spend(organizationId, nowMs - sinceMs, nowMs);
          if (last.organizationId !== organizationId) lastOther = last;
          last = { organizationId, atMs: nowMs };
        },
      };
    },
  };
}
