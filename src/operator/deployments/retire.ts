import { beyondSpec } from "../../api/api.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { ConfirmFlags } from "../confirm.ts";
import { confirmationPrompt, refusedBy } from "../confirm.ts";
import type { OperatorContext, OperatorFlags } from "../context.ts";
import { isUnknownOperation } from "../failure.ts";
import { refuseMissingOperation } from "../missing-operation.ts";
import { withService } from "../operator.ts";
import { refusePathParameter } from "../path-parameter.ts";
import type { Service } from "../service.ts";
import { findDeployment, isCurrent, fetchDeployment } from "./find.ts";
import { deploymentInWords } from "./words.ts";

export interface DeploymentsRetireFlags extends OperatorFlags, ConfirmFlags {
  readonly dryRun?: boolean;
}

/** `deployments retire DEPLOYMENT`: by id, or by the robot it runs on. */
export async function deploymentsRetire(
  flags: DeploymentsRetireFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  const { terminal } = context;
  if (name === undefined || refusePathParameter(name, terminal)) return EXIT.usage;
  return withService(flags, context, async (service) => {
    const id = await findDeployment(service, name, terminal);
    if (typeof id === "number") return id;
    const input = { parameters: { deployment_id: id } };
    if (flags.dryRun === true) return service.showRequest(beyondSpec.retireDeployment, input, flags.json === true);
    const refused = await refusedRetirement(id, service, flags, context);
    if (refused !== null) return refused;
    const result = await service.call(beyondSpec.retireDeployment, input);
    if (result.kind !== "ok") {
      if (!isUnknownOperation(result)) return service.failed(result);
      const fix = "deploy another model to the robot: a new deployment replaces the old one";
      return refuseMissingOperation("does not retire deployments", fix, terminal);
    }
    const { value, document } = result.value;
    if (flags.json === true) terminal.json(document);
    else
      terminal.print(`${value.model ?? "The deployment"} on ${value.robot ?? name} is ${value.status} (${value.id}).`);
    return EXIT.ok;
  });
}

/** Null where the operator agrees, or is not asked. */
async function refusedRetirement(
  id: string,
  service: Service,
  flags: DeploymentsRetireFlags,
  context: OperatorContext,
): Promise<ExitCode | null> {
  const person = confirmationPrompt(flags, context);
  if (person === null) return null;
  const { terminal, machine } = context;
  const found = await fetchDeployment(service, id);
  // If it cannot be read, the retirement itself will report the failure.
  if (found.kind !== "ok" || !isCurrent(found.value.value)) return null;
  terminal.note(`This retires ${deploymentInWords(found.value.value, machine.clock.wallMs())}.`);
  terminal.note("The robot loses its endpoint.");
  return refusedBy(person, "Retire it?", terminal);
}
