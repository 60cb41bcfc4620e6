import type { EndpointHealth } from "../kernel/store/tables.ts";
import type { DeploymentRow } from "./queries.ts";

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
