import type { Clock } from "../../platform/clock.ts";
import { TokenBuckets } from "../kernel/traffic/token-buckets.ts";

/** Bytes that the history of robots may grow by in a day: by one key, and of one organization. */
export interface HistoryLimits {
  readonly key: number;
  readonly organization: number;
}

const MEBIBYTE = 1024 * 1024;
const DAY_S = 86_400;

/** With half a kilobyte for each registration, each of 10,000 robots with one key registers a hundred times a day. */
export const HISTORY_LIMITS: HistoryLimits = { key: 512 * MEBIBYTE, organization: 1024 * MEBIBYTE };

/** Keys and organizations that are known at a time; one that is forgotten begins anew. */
const BUCKETS_MAXIMUM = 10_000;

/** What is left: where it is `little`, registrations that change nothing are not entered; where there is none, nobody registers. */
export type HistoryLeft =
  | { readonly state: "plenty" | "little" }
  | { readonly state: "none"; readonly limit: `limits.history_mib_per_day.${keyof HistoryLimits}` };

/**
 * Keeps a key that registers without end from filling the disk: each registration is entered in the audit log, which is kept for a year.
 * Counted in this process, as rates are.
 */
export interface HistoryBudget {
  left(owner: HistoryOwner): HistoryLeft;
  /** So many bytes were entered. */
  spend(owner: HistoryOwner, bytes: number): void;
}

interface HistoryOwner {
  readonly organization_id: string;
  readonly key_id: string;
}

export function createHistoryBudget(limits: HistoryLimits, clock: Pick<Clock, "monotonicMs">): HistoryBudget {
  const ofDay = (bytes: number) => new TokenBuckets({ burst: bytes, per_second: bytes / DAY_S }, BUCKETS_MAXIMUM);
  const [keys, organizations] = [ofDay(limits.key), ofDay(limits.organization)];
  return {
    left({ key_id: keyId, organization_id: organizationId }) {
      const nowMs = clock.monotonicMs();
      const key = keys.look(keyId, nowMs).remaining;
      const organization = organizations.look(organizationId, nowMs).remaining;
      if (key <= 0) return { state: "none", limit: "limits.history_mib_per_day.key" };
      if (organization <= 0) return { state: "none", limit: "limits.history_mib_per_day.organization" };
      const isLittle = key < limits.key / 2 || organization < limits.organization / 2;
      return { state: isLittle ? "little" : "plenty" };
    },
    spend({ key_id: keyId, organization_id: organizationId }, bytes) {
      const nowMs = clock.monotonicMs();
      keys.spend(keyId, bytes, nowMs);
      organizations.spend(organizationId, bytes, nowMs);
    },
  };
}
