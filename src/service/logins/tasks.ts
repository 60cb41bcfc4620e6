import type { OperationContext } from "../kernel/operation.ts";
import type { Task } from "../kernel/tasks/task.ts";
import { deleteExpired } from "./queries.ts";

const INTERVAL_MS = 60_000;
/** Rows per transaction. */
const BATCH = 500;
/** How long an expired session is kept, so that its user gets "expired" instead of "unknown". */
const SESSION_MEMORY_MS = 30 * 24 * 60 * 60 * 1000;

/** Deletes expired logins, and sessions that expired long ago. */
export function createPruneLogins({ store, machine: { clock } }: Pick<OperationContext, "store" | "machine">): Task {
  return {
    name: "prune-logins",
    intervalMs: INTERVAL_MS,
    ignoresNudges: true,
    async run(signal) {
      const nowMs = clock.wallMs();
      const now = new Date(nowMs).toISOString();
      const longAgo = new Date(nowMs - SESSION_MEMORY_MS).toISOString();
      for (let deleted = BATCH; deleted >= BATCH && !signal.aborted;) {
        deleted = await store.write(async (transaction) =>
          Math.max(
            await deleteExpired(transaction, "login_exchanges", now, BATCH),
            await deleteExpired(transaction, "sessions", longAgo, BATCH),
          ),
        );
      }
    },
  };
}
