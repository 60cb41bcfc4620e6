import { beyondSpec } from "../../api/api.ts";
import type { DeploymentView } from "../../api/deployments.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { Terminal } from "../../platform/terminal.ts";
import { shortDuration } from "../../platform/text/relative-time.ts";
import { isUnknownOperation } from "../failure.ts";
import type { Answer, Service } from "../service.ts";
import type { Now } from "../times.ts";

/** Fetches the deployment: at our service's path, else at the path that clients of other services poll. */
export async function fetchDeployment(service: Service, id: string): Promise<CallResult<Answer<DeploymentView>>> {
  const input = { parameters: { deployment_id: id } };
  const result = await service.call(beyondSpec.getDeployment, input);
  return result.kind !== "ok" && isUnknownOperation(result) ? service.call(beyondSpec.pollDeployment, input) : result;
}

/** All deployments that ever were. */
export function listDeployments(service: Service) {
  return service.listAll(beyondSpec.listDeployments, ({ items }) => items);
}

/** Without retired deployments, unless the service does not know the query. */
export function listCurrentDeployments(service: Service) {
  return service.listAll(beyondSpec.listDeployments, ({ items }) => items, { query: { current: "true" } });
}

/** The current deployment of the robot with this name or id. */
export function currentOn(robot: string, deployments: readonly DeploymentView[]): DeploymentView | undefined {
  return deployments.findLast((each) => isCurrent(each) && (each.robot === robot || each.robot_id === robot));
}

/** A failed deployment is current until another replaces it. */
export function isCurrent({ status }: DeploymentView): boolean {
  return status !== "retired";
}

/** `pi0.5 on arm-7 (active for 3 d)`, for the middle of a sentence. */
export function deploymentText(deployment: DeploymentView, now: Now): string {
  const { id, model, subject_id: subjectId, robot, robot_id: robotId, status } = deployment;
  const durationMs = now.ms - Date.parse(deployment.activated_at ?? deployment.created_at ?? "");
  const length = durationMs >= 0 ? ` for ${shortDuration(durationMs)}` : "";
  return `${model ?? subjectId ?? id} on ${robot ?? robotId ?? "its robot"} (${status}${length})`;
}

export function statusText({ status }: DeploymentView, terminal: Terminal): string {
  switch (status) {
    case "active":
      return terminal.style("good", status);
    case "failed":
      return terminal.style("bad", status);
    case "retired":
      return terminal.style("dim", status);
    default:
      return terminal.style("warn", status);
  }
}
