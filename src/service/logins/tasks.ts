import type { OperationContext } from "../kernel/operation.ts";
import { createPruning, deleteExpired } from "../kernel/tasks/pruning.ts";
import type { Task } from "../kernel/tasks/task.ts";

const TASK = { name: "prune-logins", intervalMs: 60_000 } as const;
/** How long an expired session is kept, so that its user gets "expired" instead of "unknown". */
const SESSION_MEMORY_MS = 30 * 24 * 60 * 60 * 1000;

/** Deletes expired logins, and sessions that expired long ago. */
export function createPruneLogins(context: Pick<OperationContext, "store" | "machine">): Task {
  return createPruning(context, TASK, async (pruning) =>
    Math.max(
      await deleteExpired(pruning, "login_exchanges", pruning.ago(0)),
      await deleteExpired(pruning, "sessions", pruning.ago(SESSION_MEMORY_MS)),
    ),
  );
}
