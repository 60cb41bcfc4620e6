import type { OperationContext } from "../kernel/operation.ts";
import { createPruning } from "../kernel/tasks/pruning.ts";
import type { Task } from "../kernel/tasks/task.ts";
import { deleteEnded, expireDue } from "./queries.ts";

const TASK = { name: "prune-enrolments", intervalMs: 30_000 } as const;
/** How long an enrolment is kept after its end, so that its computer is told which end it was. */
const MEMORY_MS = 24 * 60 * 60 * 1000;

/** Ends enrolments that are over, which gives uses of keys back, and deletes them a day later. */
export function createPruneEnrolments(context: Pick<OperationContext, "store" | "machine">): Task {
  return createPruning(context, TASK, async ({ transaction, ago, maximum }) =>
    Math.max(await expireDue(transaction, ago(0), maximum), await deleteEnded(transaction, ago(MEMORY_MS), maximum)),
  );
}
