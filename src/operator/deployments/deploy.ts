import { operations } from "../../api/api.ts";
import type { DeploymentView } from "../../api/deployments.ts";
import { failureOf } from "../../api/words/deployment-failures.ts";
import type { Answered } from "../../client/operation-client.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { confirmationPrompt, refusedBy } from "../confirm.ts";
import type { OperatorContext } from "../context.ts";
import { isUnknownOperation } from "../failure.ts";
import { flagPlaces } from "../files/places.ts";
import type { OperatorFlags } from "../flags.ts";
import { itemsIn } from "../lists/listed.ts";
import { withService } from "../operator.ts";
import { refuseMissingOperation, refuseUsage } from "../refuse.ts";
import type { Service } from "../service.ts";
import type { Ended, Look, Waited } from "../wait.ts";
import { waitTimeout, waitUntilEnded } from "../wait.ts";
import { currentOn, listDeployments, fetchDeployment } from "./find.ts";
import { deploymentText } from "./words.ts";

const PLACES = flagPlaces({ model: "MODEL", robot: "--robot" });

type Found = Pick<Answered<DeploymentView>, "value" | "document">;

/** `deploy MODEL --robot NAME`: the service retires the robot's previous deployment in the same transaction. */
export async function deploy(
  flags: OperatorFlags,
  context: OperatorContext,
  model: string | undefined,
): Promise<ExitCode> {
  const { terminal } = context;
  const timeoutMs = waitTimeout(flags, terminal);
  if (model === undefined || timeoutMs === null) return EXIT.usage;
  const [robot, ...more] = flags.robot ?? [];
  if (robot === undefined || more.length > 0) {
    const what = robot === undefined ? "no robot is given" : "a deployment is for one robot";
    const fix = robot === undefined ? "give --robot NAME" : "run deploy once per robot, or create a fleet";
    return refuseUsage(what, fix, terminal);
  }
  const body = { model, robot };
  return withService(flags, context, async (service) => {
    if (flags.dryRun === true) return service.showRequest(operations.createDeployment, { body }, flags.json === true);
    const refused = await refusedReplacement(robot, service, flags, context);
    if (refused !== null) return refused;
    const result = await service.call(operations.createDeployment, { body });
    if (result.kind !== "ok") return service.failed(result, { body, places: PLACES });
    const waited =
      flags.wait === true
        ? await waitForDeployment(service, result.value, timeoutMs, context)
        : { exitCode: EXIT.ok, last: result.value };
    if (flags.json === true) terminal.json(waited.last.document);
    else terminal.print(deployedText(waited.last.value, body, terminal));
    return waited.exitCode;
  });
}

/** Null where the deployment replaces none, or the operator agrees. */
async function refusedReplacement(
  robot: string,
  service: Service,
  flags: OperatorFlags,
  context: OperatorContext,
): Promise<ExitCode | null> {
  const prompt = confirmationPrompt(flags, context);
  if (prompt === null) return null;
  const { terminal, machine } = context;
  const deployments = await listDeployments(service);
  // Without a list of deployments there is nothing to ask about.
  if (deployments.kind !== "ok") return isUnknownOperation(deployments) ? null : service.failed(deployments);
  const replaced = currentOn(robot, itemsIn(deployments.value));
  if (replaced === undefined) return null;
  terminal.note(`This retires ${deploymentText(replaced, machine.clock.wallMs())}.`);
  return refusedBy(prompt, "Replace it?", terminal);
}

async function waitForDeployment(
  service: Service,
  first: Found,
  timeoutMs: number,
  context: OperatorContext,
): Promise<Waited<Found>> {
  const { id } = first.value;
  const fetch = () => fetchDeployment(service, id);
  // Already ended: no further request, which a service without that operation could not answer.
  const known = endOf(first.value) === null ? await fetch() : null;
  if (known !== null && known.kind !== "ok" && isUnknownOperation(known)) {
    const lack = "does not show deployments, so there is nothing to wait on";
    const fix = "the deployment continues; robot-policy fleets show names the robots of a fleet with their state";
    return { exitCode: refuseMissingOperation(lack, fix, context.terminal), last: first };
  }
  const later = `it continues without this command: robot-policy deployments show ${id}; --timeout waits longer`;
  const look = ({ value }: Found): Look => {
    const summary = `${value.model ?? value.id} on ${value.robot ?? "its robot"} is ${value.status}`;
    return { lines: [summary], summary, ended: endOf(value) };
  };
  return waitUntilEnded(service, { first, fetch, look, timeoutMs, later }, context);
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
  const { id, status, endpoint_url: endpointUrl } = deployment;
  const style = status === "active" ? "good" : status === "failed" ? "bad" : "warn";
  const where = (endpointUrl ?? "") === "" ? "" : `, at ${endpointUrl}`;
  const on = `${deployment.model ?? asked.model} on ${deployment.robot ?? asked.robot}`;
  return `${on} is ${terminal.style(style, status)} (${id})${where}`;
}
