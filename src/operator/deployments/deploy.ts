import { operations } from "../../api/api.ts";
import type { DeploymentView } from "../../api/deployments.ts";
import { failureOf } from "../../api/words/deployment-failures.ts";
import { EXIT, type Terminal } from "../../platform/terminal.ts";
import { makeChange } from "../change.ts";
import type { OperatorCommand } from "../context.ts";
import { isUnknownOperation } from "../failure.ts";
import { flagPlaces } from "../files/places.ts";
import { itemsIn } from "../lists/listed.ts";
import { withService } from "../operator.ts";
import { refuseUsage } from "../refuse.ts";
import type { Answer, Service } from "../service.ts";
import { type Ended, type Look, type Waited, waitTimeout, waitUntilEnded } from "../wait.ts";
import { currentOn, deploymentText, fetchDeployment, listCurrentDeployments, statusText } from "./find.ts";

/** `deploy MODEL --robot NAME`: the service retires the robot's previous deployment in the same transaction. */
export const deploy: OperatorCommand = async (flags, context, model) => {
  const { terminal } = context;
  const timeoutMs = waitTimeout(flags, terminal);
  if (model === undefined || timeoutMs === null) return EXIT.usage;
  const [robot, ...more] = flags.robot ?? [];
  if (robot === undefined) return refuseUsage("no robot is given", "give --robot NAME", terminal);
  if (more.length > 0) {
    return refuseUsage("a deployment is for one robot", "run deploy once per robot, or create a fleet", terminal);
  }
  const body = { model, robot };
  return withService(flags, context, (service) =>
    makeChange(service, {
      row: operations.createDeployment,
      input: { body },
      async explain() {
        const deployments = await listCurrentDeployments(service);
        // Without a list of deployments there is nothing to ask about.
        if (deployments.kind !== "ok") return isUnknownOperation(deployments) ? null : service.failed(deployments);
        const replaced = currentOn(robot, itemsIn(deployments.value));
        if (replaced === undefined) return null;
        terminal.note(`This retires ${deploymentText(replaced, service.now())}.`);
        return "Replace it?";
      },
      places: flagPlaces({ model: "MODEL", robot: "--robot" }),
      wait: (created) => waitForDeployment(service, created, timeoutMs),
      show: (deployment) => terminal.print(deployedText(deployment, body, terminal)),
    }),
  );
};

function waitForDeployment(
  service: Service,
  first: Answer<DeploymentView>,
  timeoutMs: number,
): Promise<Waited<Answer<DeploymentView>>> {
  const { id } = first.value;
  const later = `it continues without this command: robot-policy deployments show ${id}; --timeout waits longer`;
  const look = ({ value }: Answer<DeploymentView>): Look => {
    const summary = `${value.model ?? value.id} on ${value.robot ?? "its robot"} is ${value.status}`;
    return { lines: [summary], summary, ended: endOf(value) };
  };
  return waitUntilEnded(service, {
    first,
    fetch: () => fetchDeployment(service, id),
    look,
    timeoutMs,
    later: () => later,
    missing: [
      "does not show deployments, so there is nothing to wait on",
      "the deployment continues; robot-policy fleets show names the robots of a fleet with their state",
    ],
  });
}

/** Null while it is being prepared, or has a status that this program does not know. */
function endOf(deployment: DeploymentView): Ended | null {
  const { status, id } = deployment;
  switch (status) {
    case "active":
      return { exitCode: EXIT.ok, problem: null };
    case "failed": {
      const code = deployment.last_error_code ?? "deployment-failed";
      const failure = failureOf(deployment);
      const what = `the deployment ${id} failed${failure === null ? "" : `: ${failure.what}`}`;
      const fix = (failure?.remedy ?? "") || `robot-policy deployments show ${id} shows more`;
      return { exitCode: EXIT.rejected, problem: { code, what, fix } };
    }
    case "retired": {
      const what = `the deployment ${id} was retired or replaced`;
      const fix = "robot-policy deployments list shows all deployments";
      return { exitCode: EXIT.conflict, problem: { code: "retired", what, fix } };
    }
    default:
      return null;
  }
}

function deployedText(
  deployment: DeploymentView,
  asked: { readonly model: string; readonly robot: string },
  terminal: Terminal,
): string {
  const { id, endpoint_url: endpointUrl } = deployment;
  const where = (endpointUrl ?? "") === "" ? "" : `, at ${endpointUrl}`;
  const on = `${deployment.model ?? asked.model} on ${deployment.robot ?? asked.robot}`;
  return `${on} is ${statusText(deployment, terminal)} (${id})${where}`;
}
