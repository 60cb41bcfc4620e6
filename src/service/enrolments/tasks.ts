import type { OperationContext } from "../kernel/operation.ts";
import type { Task } from "../kernel/tasks/task.ts";
import { deleteExpired } from "./allowed-keys.ts";
import { deleteEnded, expireDue } from "./queries.ts";

const INTERVAL_MS = 30_000;
/** Rows per transaction. */
const BATCH = 500;
/** How long an enrolment is kept after its end, so that its computer is told which end it was. */
const MEMORY_MS = 24 * 60 * 60 * 1000;

/** Ends enrolments that are over, which gives uses of keys back, and deletes them, and allowed keys that expired, a day later. */
export function createPruneEnrolments({
  store,
  machine: { clock },
}: Pick<OperationContext, "store" | "machine">): Task {
  return {
    name: "prune-enrolments",
    intervalMs: INTERVAL_MS,
    ignoresNudges: true,
    async run(signal) {
      const nowMs = clock.wallMs();
      const now = new Date(nowMs).toISOString();
      const dayAgo = new Date(nowMs - MEMORY_MS).toISOString();
      for (let done = BATCH; done >= BATCH && !signal.aborted;) {
        done = await store.write(async (transaction) =>
          Math.max(
            await expireDue(transaction, now, BATCH),
            await deleteEnded(transaction, dayAgo, BATCH),
            await deleteExpired(transaction, dayAgo, BATCH),
          ),
        );
      }
    },
  };
}
