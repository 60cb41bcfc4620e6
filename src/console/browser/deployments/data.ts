import type * as z from "zod";

import type { deploymentListSchema, DeploymentView } from "../../../api/deployments.ts";
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
