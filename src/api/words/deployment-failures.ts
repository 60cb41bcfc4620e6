import type { DeploymentView } from "../deployments.ts";

/** Why a deployment failed, and what becomes of it. */
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
      remedy: "Have whoever runs the service add one to the catalog, or correct the region of the robot.",
    },
    preparation_timeout: {
      what: "Its endpoint was not healthy in time.",
      remedy: "Mend the inference server; the deployment becomes active by itself then.",
    },
    endpoint_failing: {
      what: "Its endpoint was healthy and fails now.",
      remedy: "Mend the inference server; the deployment becomes active again by itself then.",
    },
  }),
);

/** By the code of the service; one that is newer than this program stands for itself. Null for one that has not failed. */
export function failureOf({ last_error_code: code }: DeploymentView): DeploymentFailure | null {
  if (code === null || code === undefined || code === "") return null;
  return FAILURES.get(code) ?? { what: `${code}.`, remedy: "" };
}
