import type * as z from "zod";

import type { deploymentListSchema, DeploymentView } from "../../../api/deployments.ts";
import { type Data, useData } from "../data/use-data.ts";

export function useDeployments(): Data<z.output<typeof deploymentListSchema>> {
  return useData("/v1/me/deployments", ["deployments"]);
}

export function deploymentPath(id: string): string {
  return `/deployments/${encodeURIComponent(id)}`;
}

/** Whether it is its robot's current deployment. A failed one is: it becomes active again when its cause is fixed. */
export function isCurrent({ status }: DeploymentView): boolean {
  return status !== "retired";
}

/** States, most urgent first. */
const SEVERITY: readonly string[] = ["failed", "preparing", "active", "retired"];

export function severityOf({ status }: DeploymentView): number {
  return SEVERITY.indexOf(status);
}
