import { createAuditPruning } from "./audit/audit.ts";
import { createMeterUsage, createReconcileDeployments } from "./deployments/tasks.ts";
import { type HealthProbe, createProber, type ReadinessTimes } from "./endpoints/prober.ts";
import { createPruneEnrolments } from "./identity/enrolments.ts";
import { createReportFleets } from "./fleets/report-states.ts";
import { createReconcileFleets } from "./fleets/tasks.ts";
import type { Task } from "./kernel/tasks/task-loop.ts";
import { createPruneLogins } from "./logins/logins.ts";
import type { OperationContext } from "./kernel/operation.ts";
import { createDeliverer, createPruneOutbox } from "./webhooks/deliver.ts";
import { createPruneContents } from "./robots/parts.ts";
import type { WebhookSettings } from "./webhooks/index.ts";
import type { Sender } from "./webhooks/receivers.ts";

export interface TaskOptions {
  readonly readiness: ReadinessTimes;
  readonly health: HealthProbe;
  readonly webhooks: WebhookSettings;
  readonly sender: Sender;
  readonly auditRetentionDays: number;
}

/** Creates the background tasks of the service. `resources` receives what must be closed after the tasks have ended. */
export function createTasks(
  context: OperationContext,
  { readiness, health, webhooks, sender, auditRetentionDays }: TaskOptions,
  resources: AsyncDisposableStack,
): readonly Task[] {
  const prober = resources.use(createProber(context, readiness, health));
  const deliverer = resources.use(createDeliverer(context, webhooks, sender));
  return [
    ...prober.tasks,
    createReconcileFleets(context, readiness.tickMs),
    createReconcileDeployments(context),
    createMeterUsage(context),
    createPruneLogins(context),
    createPruneEnrolments(context),
    createReportFleets(context),
    deliverer.task,
    createPruneOutbox(context, webhooks),
    createPruneContents(context),
    createAuditPruning(context, auditRetentionDays),
  ];
}
