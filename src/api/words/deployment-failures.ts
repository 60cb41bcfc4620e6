import type { DeploymentView } from "../deployments.ts";

/** Why a deployment failed, and what to do. */
export interface DeploymentFailure {
  readonly what: string;
  readonly remedy: string;
}

const FAILURES: ReadonlyMap<string, DeploymentFailure> = new Map(
  Object.entries({
    robot_incompatible: {
      what: "The robot lacks what the checkpoint needs.",
      remedy: "Set the robot up again so that it has what the model needs, or deploy another model.",
    },
    no_endpoint_in_region: {
      what: "The checkpoint has no endpoint in the robot's region.",
      remedy: "Ask the service's administrator to add one to the catalog, or correct the robot's region.",
    },
    preparation_timeout: {
      what: "Its endpoint was not healthy in time.",
      remedy: "Repair the inference server; the deployment then becomes active by itself.",
    },
    endpoint_failing: {
      what: "Its endpoint was healthy and fails now.",
      remedy: "Repair the inference server; the deployment then becomes active again by itself.",
    },
  }),
);

/** Null if the deployment has not failed. A code that this program does not know is shown as it is. */
export function failureOf({ last_error_code: code }: DeploymentView): DeploymentFailure | null {
  if (code === null || code === undefined || code === "") return null;
  return FAILURES.get(code) ?? { what: `${code}.`, remedy: "" };
}
