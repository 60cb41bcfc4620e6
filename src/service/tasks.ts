import { createAuditPruning } from "./audit/tasks.ts";
import { createMeterUsage } from "./deployments/meter-usage.ts";
import { createReconcileDeployments } from "./deployments/tasks.ts";
import type { HealthProbe } from "./endpoints/probe.ts";
import type { ReadinessTimes } from "./endpoints/times.ts";
import type { Task } from "./kernel/tasks/task.ts";
import { createPruneLogins } from "./logins/tasks.ts";
import { createReadiness } from "./readiness.ts";
import type { MeteringContext } from "./usage/clock.ts";

export interface TaskOptions {
  readonly readiness: ReadinessTimes;
  readonly health: HealthProbe;
  /** Null keeps audit entries for ever. */
  readonly auditRetentionDays: number | null;
}

/** Creates the background tasks of the service. `resources` receives what must be closed after the tasks have ended. */
export function createTasks(
  context: MeteringContext,
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
