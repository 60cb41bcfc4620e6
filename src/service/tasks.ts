import { createPruneLogins } from "./auth/prune-logins.ts";
import { createReconcileDeployments } from "./deployments/reconcile-deployments.ts";
import type { OperationContext } from "./operations/operation.ts";
import { createAuditPruning } from "./prune-audit.ts";
import { createReadiness } from "./readiness/readiness.ts";
import type { HealthProbe } from "./readiness/probe.ts";
import type { ReadinessTimes } from "./readiness/times.ts";
import type { Task } from "./task.ts";
import { createMeterUsage } from "./usage/meter-usage.ts";

export interface TaskOptions {
  readonly readiness: ReadinessTimes;
  readonly health: HealthProbe;
  /** Null keeps the audit log for ever. */
  readonly auditRetentionDays: number | null;
}

/** Everything the service does without being asked. What must be closed after the tasks have ended goes to `resources`. */
export function createTasks(
  context: OperationContext,
  { readiness, health, auditRetentionDays }: TaskOptions,
  resources: AsyncDisposableStack,
): readonly Task[] {
  const observing = resources.use(createReadiness(context, readiness, health));
  const tasks: Task[] = [
    ...observing.tasks,
    createReconcileDeployments(context),
    createMeterUsage(context),
    createPruneLogins(context),
  ];
  if (auditRetentionDays !== null) tasks.push(createAuditPruning(context.store, context.machine, auditRetentionDays));
  return tasks;
}
