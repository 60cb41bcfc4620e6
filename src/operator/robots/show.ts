import { beyondSpec } from "../../api/api.ts";
import { robotContractSchema } from "../../api/contract.ts";
import { CONTRACT_SCHEMA } from "../../api/robot-terms.ts";
import type { IdentifiedRobotView } from "../../api/robot-views.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import { computerFacts, computerNeed } from "../../views/computers.ts";
import { AXES, CAMERAS, contractFacts, numbered } from "../../views/contracts.ts";
import { isEnrolled, robotFacts, robotNeeds } from "../../views/robots.ts";
import { isCurrent } from "../../views/deployments.ts";
import { type Given, onOff } from "../flags.ts";
import { showFacts } from "../lists/show-list.ts";
import { factTexts, needTexts, showColumns } from "../lists/shown.ts";
import { callIfOffered, type Service } from "../service.ts";
import type { Now } from "../times.ts";
import { warnOfRegion, warnOfType } from "./registration.ts";

export const SHOW = {
  contract: onOff("show the cameras and axes that it registered"),
};

/**
 * Shows one robot, with its registration, and what it runs. `--json` prints the service's answer with the registration, the deployment
 * and the computer added; each is null where the service does not have it.
 */
export async function showRobot(
  service: Service,
  flags: Given<typeof SHOW>,
  robot: IdentifiedRobotView,
  document: unknown,
): Promise<ExitCode> {
  const { terminal } = service;
  const input = { parameters: { robot: robot.id } };
  const registration = await callIfOffered(service, beyondSpec.getRegistration, input);
  if (typeof registration === "number") return registration;
  const deployment = await currentDeployment(service, robot);
  const computer = isEnrolled(robot) ? await service.call(beyondSpec.getInstallation, input) : null;
  const installation = computer?.kind === "ok" ? computer.value : null;
  if (service.flags.json === true) {
    const parts = {
      registration: registration?.document ?? null,
      deployment: deployment?.document ?? null,
      installation: installation?.document ?? null,
    };
    terminal.json(Object.assign({}, document, parts));
    return EXIT.ok;
  }
  const now = service.now();
  const shown = { view: robot, registration: registration?.value ?? null, deployment: deployment?.value };
  const computersNeed = installation === null ? null : computerNeed(installation.value, now.ms);
  const needs = [...(computersNeed === null ? [] : [computersNeed]), ...robotNeeds(shown)];
  const contract = registration?.value.contract;
  showFacts(terminal, [
    ["robot", `${robot.name} (${robot.id})`],
    ...factTexts(robotFacts(shown), now),
    ["contract", contractText(contract, flags)],
    ...needTexts(needs, robot.name, now),
  ]);
  if (installation !== null) {
    terminal.heading("computer");
    showFacts(terminal, factTexts(computerFacts(installation.value), now));
  }
  if (registration !== null) warnOfType(registration.value, terminal);
  await warnOfRegion(service, robot.region, terminal);
  if (flags.contract === true && contract !== undefined) {
    if (contract === null) terminal.note("It registered by its type alone, without a contract.");
    else showContract(contract, terminal, now);
  }
  if (registration === null && flags.contract === true) terminal.note("This service does not show contracts.");
  return EXIT.ok;
}

/** Nothing where the service does not show it, and where it is shown below. */
function contractText(contract: object | null | undefined, flags: Given<typeof SHOW>): string {
  if (contract === undefined || flags.contract === true) return "";
  return contract === null ? "none" : "--contract shows it";
}

/** What the robot runs: null for nothing, undefined where the service or the credential does not show it. */
export async function currentDeployment(service: Service, { id }: Pick<IdentifiedRobotView, "id">) {
  const query = { current: "true", robot_id: id };
  const listed = await service.listAll(beyondSpec.listDeployments, ({ items }) => items, { query });
  if (listed.kind !== "ok") return undefined;
  // A service that does not know the query answers with all deployments.
  const current = listed.value.records.find(({ value }) => isCurrent(value) && value.robot_id === id);
  return current ?? { value: null, document: null };
}

/** Shows a contract as tables, or as JSON where it has another schema than this project's. */
function showContract(contract: Readonly<Record<string, unknown>>, terminal: Terminal, now: Now): void {
  const read = contract["schema"] === CONTRACT_SCHEMA ? robotContractSchema.safeParse(contract) : null;
  if (read?.success !== true) {
    terminal.printText(JSON.stringify(contract, null, 2));
    return;
  }
  const { cameras, state_axes: stateAxes, action_axes: actionAxes } = read.data;
  terminal.print("");
  showFacts(terminal, factTexts(contractFacts(read.data), now));
  terminal.heading("cameras");
  showColumns(CAMERAS, cameras, terminal, now);
  terminal.heading("state axes", ", in vector order");
  showColumns(AXES, numbered(stateAxes), terminal, now);
  terminal.heading("action axes", ", in vector order");
  showColumns(AXES, numbered(actionAxes), terminal, now);
}
