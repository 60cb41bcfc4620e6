import { beyondSpec } from "../../api/api.ts";
import type { DeploymentView } from "../../api/deployments.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { Answered } from "../../client/operation-client.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { isUnknownOperation } from "../failure.ts";
import { itemsIn } from "../lists/listed.ts";
import type { Service } from "../service.ts";

/** The deployment as it is now: where our service has it, else where existing clients of other services poll. */
export async function lookAtDeployment(
  service: Service,
  deploymentId: string,
): Promise<CallResult<Answered<DeploymentView>>> {
  const input = { parameters: { deployment_id: deploymentId } };
  const result = await service.call(beyondSpec.getDeployment, input);
  return result.kind !== "ok" && isUnknownOperation(result) ? service.call(beyondSpec.pollDeployment, input) : result;
}

export function listDeployments(service: Service) {
  return service.listAll(beyondSpec.listDeployments, ({ items }) => items);
}

/** The id of a deployment; an exit code where it was not found. */
export async function findDeployment(service: Service, name: string, terminal: Terminal): Promise<string | ExitCode> {
  // Ids are opaque, but ours are known at sight; others are looked up.
  if (/^dep_[0-9a-z]{26}$/.test(name)) return name;
  const result = await listDeployments(service);
  if (result.kind !== "ok") return isUnknownOperation(result) ? name : service.failed(result);
  const deployments = itemsIn(result.value);
  if (deployments.some(({ id }) => id === name)) return name;
  const current = currentOn(name, deployments);
  if (current !== undefined) return current.id;
  const what = `no deployment has the id ${name}, and none runs on a robot of that name`;
  terminal.problem({ code: "not-found", what, fix: "robot-policy deployments list shows what runs where" });
  return EXIT.rejected;
}

/** What runs on the robot of this name or id. */
export function currentOn(robot: string, deployments: readonly DeploymentView[]): DeploymentView | undefined {
  return deployments.findLast((each) => isCurrent(each) && (each.robot === robot || each.robot_id === robot));
}

/** One that failed still stands for its robot until another takes its place. */
export function isCurrent({ status }: DeploymentView): boolean {
  return status !== "retired";
}
