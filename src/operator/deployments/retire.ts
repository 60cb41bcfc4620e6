import { beyondSpec } from "../../api/api.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { makeConfirmedChange } from "../confirmed-change.ts";
import type { OperatorContext } from "../context.ts";
import type { OperatorFlags } from "../flags.ts";
import type { Service } from "../service.ts";
import { withNamed } from "../with-named.ts";
import { findDeployment, isCurrent, fetchDeployment } from "./find.ts";
import { deploymentText } from "./words.ts";

/** `deployments retire DEPLOYMENT`: by id, or by the robot it runs on. */
export async function deploymentsRetire(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  return withNamed(findDeployment, flags, context, name, (service, id) =>
    makeConfirmedChange(
      service,
      {
        row: beyondSpec.retireDeployment,
        input: { parameters: { deployment_id: id } },
        explain: () => explainRetirement(id, service, context),
        missing: [
          "does not retire deployments",
          "deploy another model to the robot: a new deployment replaces the old one",
        ],
        done: (retired) =>
          `${retired.model ?? "The deployment"} on ${retired.robot ?? name} is ${retired.status} (${retired.id}).`,
      },
      flags,
      context,
    ),
  );
}

async function explainRetirement(
  id: string,
  service: Service,
  { terminal, machine }: OperatorContext,
): Promise<string | null> {
  const found = await fetchDeployment(service, id);
  // If it cannot be read, the retirement itself will report the failure.
  if (found.kind !== "ok" || !isCurrent(found.value.value)) return null;
  terminal.note(`This retires ${deploymentText(found.value.value, machine.clock.wallMs())}.`);
  terminal.note("The robot loses its endpoint.");
  return "Retire it?";
}
