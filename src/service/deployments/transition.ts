import type { Transaction } from "../kernel/store/store.ts";
import type { MeteringContext, UsageTime } from "../usage/index.ts";
import { closePeriod, lastPeriodEnd, latestBelieved, periodStart } from "../usage/index.ts";
import type { DeploymentRow } from "./queries.ts";
import { updateDeployment } from "./queries.ts";

/** The new state of a deployment. */
export type Target = Pick<DeploymentRow, "status" | "last_error_code" | "region">;

/** Created before the transaction, which may run twice. */
export interface Moment {
  /** ISO 8601. */
  readonly now: string;
  /** Id of the usage period that may begin. */
  readonly usageId: string;
  /** The same time by the usage clock. */
  readonly metered: UsageTime;
}

/** Now, by one reading of the clock: with two, a period could begin or end in another second than its deployment. */
export function momentNow({ newId, usageClock }: Pick<MeteringContext, "newId" | "usageClock">): Moment {
  const { wall, ...metered } = usageClock.now();
  return { now: wall, usageId: newId("use"), metered };
}

/**
 * Moves a deployment to another state and meters its usage in the same transaction: a period starts when the deployment becomes
 * active and is entered in the ledger when it stops being active. The caller has locked the row.
 */
export async function moveDeployment(
  transaction: Transaction,
  deployment: DeploymentRow,
  target: Target,
  moment: Moment,
): Promise<DeploymentRow> {
  const { now } = moment;
  const change = {
    ...target,
    activated_at: deployment.activated_at ?? (target.status === "active" ? now : null),
    retired_at: target.status === "retired" ? now : null,
    ...(await meter(transaction, deployment, target.status === "active", moment)),
  };
  await updateDeployment(transaction, deployment, change);
  return { ...deployment, ...change };
}

/** The start of a usage period. */
export async function beginUsage(
  transaction: Transaction,
  { organization_id: organizationId, robot_id: robotId }: Pick<DeploymentRow, "organization_id" | "robot_id">,
  { metered: { at }, usageId }: Moment,
): Promise<Pick<DeploymentRow, "usage_from" | "usage_id">> {
  const until = await lastPeriodEnd(transaction, organizationId, robotId, latestBelieved(at));
  return { usage_from: periodStart(at, until), usage_id: usageId };
}

async function meter(
  transaction: Transaction,
  deployment: DeploymentRow,
  isActive: boolean,
  moment: Moment,
): Promise<Partial<Pick<DeploymentRow, "usage_from" | "usage_id" | "usage_until">>> {
  const isRunning = deployment.usage_from !== null;
  if (isActive === isRunning) return {};
  if (isActive) return beginUsage(transaction, deployment, moment);
  return { usage_from: null, usage_id: null, usage_until: await closePeriod(transaction, deployment, moment.metered) };
}
