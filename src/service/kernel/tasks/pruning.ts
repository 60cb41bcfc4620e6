import { isoTime } from "../../../platform/clock.ts";
import type { OperationContext } from "../operation.ts";
import type { Transaction } from "../store/store.ts";
import type { Task } from "./task-loop.ts";

/** Rows per transaction, so that requests can write in between. */
const BATCH = 500;

/** What one transaction prunes. */
export interface Pruning {
  readonly transaction: Transaction;
  /** The time so long before this run, ISO 8601. */
  readonly ago: (ageMs: number) => string;
  /** Rows that one step may change. */
  readonly maximum: number;
}

/**
 * A task that deletes what ended, in as many transactions as it takes.
 *
 * @param prune resolves with the largest number of rows that one of its steps changed.
 */
export function createPruning(
  { store, machine: { clock } }: Pick<OperationContext, "store" | "machine">,
  { name, intervalMs }: Pick<Task, "name" | "intervalMs">,
  prune: (pruning: Pruning) => Promise<number>,
): Task {
  return {
    name,
    intervalMs,
    ignoresNudges: true,
    async run(signal) {
      const nowMs = clock.wallMs();
      const ago = (ageMs: number) => isoTime(nowMs - ageMs);
      for (let pruned = BATCH; pruned >= BATCH && !signal.aborted;) {
        pruned = await store.write((transaction) => prune({ transaction, ago, maximum: BATCH }));
      }
    },
  };
}

/** Deletes rows that expired longest ago, of those that expired before `before` (ISO 8601); returns how many. */
export async function deleteExpired(
  { transaction, maximum }: Pruning,
  table: "login_exchanges" | "sessions",
  before: string,
): Promise<number> {
  const expired = transaction.selectFrom(table).select("id").where("expires_at", "<", before);
  const oldest = expired.orderBy("expires_at").limit(maximum);
  const { numDeletedRows } = await transaction.deleteFrom(table).where("id", "in", oldest).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
