import type { DocumentInput } from "../configuration/document-input.ts";
import type { Folders } from "../configuration/folders.ts";
import { openState } from "../configuration/open.ts";
import { describeRegistration } from "../describe-agent.ts";
import { documentFindings } from "../findings.ts";
import { STATES } from "../states.ts";
import type { StatusDocument } from "../status.ts";
import type { CommandContext } from "./context.ts";

/** The status document when the configuration is invalid: shows the last registration. */
export async function describeInvalid(
  configuration: DocumentInput<unknown>,
  folders: Folders,
  { machine }: CommandContext,
): Promise<StatusDocument> {
  const state = await openState(machine, folders.stateDirectory, false);
  const registration = state.kind === "state" ? state.registration : null;
  const robotName = registration?.request.name ?? "";
  const findings = documentFindings(configuration);
  return {
    schema_version: 1,
    state: "invalid",
    healthy: false,
    summary: STATES.invalid.summary({ robotName, findings, detail: null, identity: null }),
    robot: {
      name: robotName,
      robot_type_id: registration?.request.robot_type_id ?? null,
      view: registration?.robot ?? null,
    },
    service: { url: registration?.service_url ?? null },
    registration: registration === null ? null : describeRegistration(registration),
    configuration_digest: null,
    failure: null,
    findings,
    watching: null,
    confirmation: null,
    state_problem: null,
    daemon: null,
    identity: null,
  };
}
