import { isoNow } from "../../platform/clock.ts";
import type { OperationContext } from "../kernel/operation.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { EndpointHealth } from "../kernel/store/tables.ts";
import { closePeriod, lastPeriodEnd, latestBelieved, periodStart } from "../usage/index.ts";
import { type DeploymentRow, updateDeployment } from "./queries.ts";

/** The new state of a deployment. */
export type Target = Pick<DeploymentRow, "status" | "last_error_code" | "region">;

/** When a deployment changes. Made before the transaction, which may run twice. */
export interface ChangeTime {
  /** ISO 8601. */
  readonly now: string;
  /** Id of the usage period that may begin. */
  readonly usageId: string;
}

/** Now. The clock is read once, so that a usage period begins and ends in the same second as its deployment. */
export function changeTimeNow({ newId, machine }: Pick<OperationContext, "newId" | "machine">): ChangeTime {
  return { now: isoNow(machine.clock), usageId: newId("use") };
}

/**
 * Moves a deployment to another state and meters its usage in the same transaction: a period starts when the deployment becomes
 * active and is entered in the ledger when it stops being active. The caller has locked the row.
 */
export async function moveDeployment(
  transaction: Transaction,
  deployment: DeploymentRow,
  target: Target,
  time: ChangeTime,
): Promise<void> {
  const { now } = time;
  await updateDeployment(transaction, deployment, {
    ...target,
    activated_at: deployment.activated_at ?? (target.status === "active" ? now : null),
    retired_at: target.status === "retired" ? now : null,
    ...(await meter(transaction, deployment, target.status === "active", time)),
  });
}

/** The start of a usage period. */
export async function beginUsage(
  transaction: Transaction,
  { organization_id: organizationId, robot_id: robotId }: Pick<DeploymentRow, "organization_id" | "robot_id">,
  { now, usageId }: ChangeTime,
): Promise<Pick<DeploymentRow, "usage_from" | "usage_id">> {
  const until = await lastPeriodEnd(transaction, organizationId, robotId, latestBelieved(now));
  return { usage_from: periodStart(now, until), usage_id: usageId };
}

async function meter(
  transaction: Transaction,
  deployment: DeploymentRow,
  isActive: boolean,
  time: ChangeTime,
): Promise<Partial<Pick<DeploymentRow, "usage_from" | "usage_id" | "usage_until">>> {
  const isRunning = deployment.usage_from !== null;
  if (isActive === isRunning) return {};
  if (isActive) return beginUsage(transaction, deployment, time);
  return { usage_from: null, usage_id: null, usage_until: await closePeriod(transaction, deployment, time.now) };
}

/** How long a deployment may wait for its endpoint to be healthy for the first time. */
export const PREPARATION_TIMEOUT_MS = 15 * 60_000;

/** Why a deployment failed. */
export type DeploymentErrorCode =
  /** The robot registered again or the catalog changed, and the robot no longer meets the checkpoint's requirements. */
  | "robot_incompatible"
  /** The checkpoint has no endpoint in the robot's region. */
  | "no_endpoint_in_region"
  /** The endpoint was not healthy within `PREPARATION_TIMEOUT_MS`. */
  | "preparation_timeout"
  /** The endpoint was healthy and no longer is. */
  | "endpoint_failing";

export interface Verdict {
  readonly status: "preparing" | "active" | "failed";
  readonly last_error_code: DeploymentErrorCode | null;
}

/** A current deployment, and the state of its robot and endpoint. */
export interface Situation extends Pick<DeploymentRow, "status" | "created_at" | "activated_at"> {
  readonly isCompatible: boolean;
  /** Of the endpoint in the robot's region; null if there is none. */
  readonly health: EndpointHealth | null;
}

/**
 * The state that a current deployment should have at `nowMs`. Failures are not final: once an operator has fixed an endpoint, the
 * deployment recovers by itself.
 */
export function judge(
  { status, created_at: createdAt, activated_at: activatedAt, isCompatible, health }: Situation,
  nowMs: number,
): Verdict {
  if (!isCompatible) return failed("robot_incompatible");
  if (health === null) return failed("no_endpoint_in_region");
  if (health === "healthy") return { status: "active", last_error_code: null };
  const wasActive = activatedAt !== null;
  if (health === "failing" && wasActive) return failed("endpoint_failing");
  // The endpoint's URL changed and it was not probed yet: the robot stays in service.
  if (health === "unknown" && status === "active") return { status: "active", last_error_code: null };
  const isTooLate = nowMs - Date.parse(createdAt) >= PREPARATION_TIMEOUT_MS;
  if (!wasActive && isTooLate) return failed("preparation_timeout");
  return { status: "preparing", last_error_code: null };
}

function failed(lastErrorCode: DeploymentErrorCode): Verdict {
  return { status: "failed", last_error_code: lastErrorCode };
}
