import type * as z from "zod";

import type { deploymentListSchema, DeploymentView } from "../../../api/deployments.ts";
import { type Data, useData } from "../data/use-data.ts";

type Deployments = Data<z.output<typeof deploymentListSchema>>;

export function useCurrentDeployments(): Deployments {
  return useData("/v1/me/deployments?current=true", ["deployments"]);
}

/** Also retired ones, which the service keeps for ever. */
export function useAllDeployments(isWanted: boolean): Deployments {
  return useData(isWanted ? "/v1/me/deployments" : null, ["deployments"]);
}

/** A list of the robot's current deployment, if it has one. */
export function useDeploymentOf(robotId: string): Deployments {
  return useData(`/v1/me/deployments?current=true&robot_id=${encodeURIComponent(robotId)}`, ["deployments"]);
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
