import type { Clock } from "../../../platform/clock.ts";
import { TokenBuckets } from "../../kernel/traffic/token-buckets.ts";
import type { StoredBytes } from "../../organizations/index.ts";

/** Bytes that robots' history may grow by per day, for one key and for one organization. */
export interface HistoryLimits {
  readonly key: number;
  readonly organization: number;
}

const MEBIBYTE = 1024 * 1024;
const DAY_S = 86_400;

/** At half a kilobyte per registration, enough for 10,000 robots with one key that each register a hundred times a day. */
export const HISTORY_LIMITS: HistoryLimits = { key: 512 * MEBIBYTE, organization: 1024 * MEBIBYTE };

/** Size of an audit entry besides its details: ids, times and index entries. */
const ENTRY_BYTES = 400;

/** Keys and organizations that are tracked; one that is evicted starts with a full budget. */
const BUCKETS_MAXIMUM = 10_000;

/** With `little` left, registrations that change nothing get no audit entry; with `none`, registrations are refused. */
export type HistoryLeft =
  | { readonly state: "plenty" | "little" }
  | { readonly state: "none"; readonly limit: `limits.history_mib_per_day.${keyof HistoryLimits}` };

/**
 * Keeps a client that registers in a loop from filling the disk: each registration adds an entry to the audit log, which is kept for
 * a year, and each fleet that the robot joins or leaves by it adds another. Counted per process, as rate limits are.
 */
export interface HistoryBudget {
  left(owner: HistoryOwner): HistoryLeft;
  /** Records an entry that was added to the audit log. */
  spend(owner: HistoryOwner, detailBytes: number): void;
}

interface HistoryOwner {
  readonly organizationId: string;
  readonly keyId: string;
}

export function createHistoryBudget(
  limits: HistoryLimits,
  storedBytes: Pick<StoredBytes, "add">,
  clock: Pick<Clock, "monotonicMs">,
): HistoryBudget {
  const ofDay = (bytes: number) => new TokenBuckets({ burst: bytes, per_second: bytes / DAY_S }, BUCKETS_MAXIMUM);
  const [keys, organizations] = [ofDay(limits.key), ofDay(limits.organization)];
  return {
    left({ keyId, organizationId }) {
      const nowMs = clock.monotonicMs();
      const key = keys.look(keyId, nowMs).remaining;
      const organization = organizations.look(organizationId, nowMs).remaining;
      if (key <= 0) return { state: "none", limit: "limits.history_mib_per_day.key" };
      if (organization <= 0) return { state: "none", limit: "limits.history_mib_per_day.organization" };
      const isLittle = key < limits.key / 2 || organization < limits.organization / 2;
      return { state: isLittle ? "little" : "plenty" };
    },
    spend({ keyId, organizationId }, detailBytes) {
      const nowMs = clock.monotonicMs();
      keys.spend(keyId, ENTRY_BYTES + detailBytes, nowMs);
      organizations.spend(organizationId, ENTRY_BYTES + detailBytes, nowMs);
      storedBytes.add(organizationId, detailBytes);
    },
  };
}
