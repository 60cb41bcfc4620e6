import { isoNow } from "../../../platform/clock.ts";
import type { ServiceMachine } from "../machine.ts";
import type { Metrics } from "../metrics.ts";
import { boundLimitsMet, type LimitMetRow, noteLimitMet } from "../store/limits-met.ts";
import type { Store } from "../store/store.ts";
import type { Task } from "../tasks/task.ts";
import type { Limit } from "./limits.ts";

/** Who met a limit. */
export interface WhoMetLimit {
  /** Null when unknown. */
  readonly organizationId: string | null;
  /** `key_…`, `ses_…`, `org_…`, or an address. Never a secret. */
  readonly party: string;
}

/** Records who meets limits, for `robot-policy-service status`. Events are counted in memory between writes, because a flood causes thousands. */
export interface LimitsMet {
  note(limit: Limit, who: WhoMetLimit): void;
  /** Calls `flush` every few seconds. */
  readonly task: Task;
  /** Writes the noted events to the store. @throws StoreUnavailableError. */
  flush(): Promise<void>;
}

export interface LimitsMetContext {
  readonly store: Store;
  readonly machine: Pick<ServiceMachine, "clock">;
  readonly metrics: Pick<Metrics, "limitMet">;
}

/** Parties of one limit that are counted between two writes. Only the metric counts others. */
export const NOTED_MAXIMUM = 200;
/** How many of these are written per limit: those that met it most often. */
export const WRITTEN_MAXIMUM = 20;
const PERIOD_MS = 10_000;

export function createLimitsMet({ store, machine: { clock }, metrics }: LimitsMetContext): LimitsMet {
  let noted = new Map<Limit, Map<string, LimitMetRow>>();

  async function flush(): Promise<void> {
    const rows = [...noted.values()].flatMap((parties) =>
      [...parties.values()].toSorted((left, right) => right.count - left.count).slice(0, WRITTEN_MAXIMUM),
    );
    if (rows.length === 0) return;
    noted = new Map();
    const nowMs = clock.wallMs();
    await store.write(async (transaction) => {
      // In a fixed order, so that replicas which write the same rows do not deadlock.
      for (const row of rows.toSorted(inOrderOfKey)) await noteLimitMet(transaction, row);
      await boundLimitsMet(transaction, nowMs);
    });
  }

  return {
    note(limit, { organizationId, party }) {
      metrics.limitMet(limit);
      const parties = noted.get(limit) ?? new Map<string, LimitMetRow>();
      noted.set(limit, parties);
      const known = parties.get(party);
      if (known === undefined && parties.size >= NOTED_MAXIMUM) return;
      const at = isoNow(clock);
      const { first_at: firstAt, count } = known ?? { first_at: at, count: 0 };
      parties.set(party, {
        limit_name: limit,
        party,
        organization_id: organizationId,
        first_at: firstAt,
        last_at: at,
        count: count + 1,
      });
    },
    task: { name: "note-limits-met", intervalMs: PERIOD_MS, ignoresNudges: true, run: flush },
    flush,
  };
}

function inOrderOfKey(left: LimitMetRow, right: LimitMetRow): number {
  const [leftKey, rightKey] = [left, right].map(({ limit_name: limitName, party }) => `${limitName} ${party}`);
  return (leftKey ?? "") < (rightKey ?? "") ? -1 : 1;
}
