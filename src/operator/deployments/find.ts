import { beyondSpec } from "../../api/api.ts";
import type { DeploymentView } from "../../api/deployments.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { shortDuration } from "../../platform/text/relative-time.ts";
import { isUnknownOperation } from "../failure.ts";
import { itemsIn } from "../lists/listed.ts";
import { refuseUnknown } from "../refuse.ts";
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

/** @returns the id of a deployment, or an exit code after reporting that there is none. */
export async function findDeployment(service: Service, name: string): Promise<string | ExitCode> {
  // An id of our own service needs no lookup.
  if (/^dep_[0-9a-z]{26}$/.test(name)) return name;
  const result = await listCurrentDeployments(service);
  if (result.kind !== "ok") return isUnknownOperation(result) ? name : service.failed(result);
  const deployments = itemsIn(result.value);
  if (deployments.some(({ id }) => id === name)) return name;
  const current = currentOn(name, deployments);
  if (current !== undefined) return current.id;
  const what = `no deployment has the id ${name}, and none runs on a robot of that name`;
  return refuseUnknown(what, "robot-policy deployments list shows all deployments", service.terminal);
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
