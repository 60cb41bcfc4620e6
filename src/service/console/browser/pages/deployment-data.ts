import type * as z from "zod";

import type { deploymentListSchema, DeploymentView } from "../../../../api/deployments.ts";
import type { Data } from "../data/use-data.ts";
import { useData } from "../data/use-data.ts";

export function useDeployments(): Data<z.output<typeof deploymentListSchema>> {
  return useData("/v1/me/deployments", ["deployments"]);
}

export function deploymentPath(id: string): string {
  return `/deployments/${encodeURIComponent(id)}`;
}

/** Whether it is what its robot runs, or is to run. A failed one is: it comes back when its cause is mended. */
export function isCurrent({ status }: DeploymentView): boolean {
  return status !== "retired";
}

/** The states of deployments, from the one that needs a person most. */
const SEVERITY: readonly string[] = ["failed", "preparing", "active", "retired"];

export function severityOf({ status }: DeploymentView): number {
  return SEVERITY.indexOf(status);
}

/** Why a deployment failed, and what becomes of it. */
export interface DeploymentFailure {
  readonly what: string;
  readonly remedy: string;
}

const FAILURES: Readonly<Record<string, DeploymentFailure>> = {
  robot_incompatible: {
    what: "The robot lacks what the checkpoint needs.",
    remedy: "It registered again or the catalog changed since; the model's page says what it lacks.",
  },
  no_endpoint_in_region: {
    what: "The checkpoint has no endpoint in the robot's region.",
    remedy: "Whoever runs the service adds one to the catalog.",
  },
  preparation_timeout: {
    what: "Its endpoint was not healthy in time.",
    remedy: "It becomes active by itself when the endpoint is healthy.",
  },
  endpoint_failing: {
    what: "Its endpoint was healthy and fails now.",
    remedy: "It becomes active again by itself when the endpoint is healthy.",
  },
};

/** By the code of the service; one that is newer than this page stands for itself. Null for one that has not failed. */
export function failureOf({ last_error_code: code }: DeploymentView): DeploymentFailure | null {
  if (code === null || code === undefined) return null;
  return FAILURES[code] ?? { what: `${code}.`, remedy: "" };
}
