import { beyondSpec, operations } from "../../api/api.ts";
import { DEPLOYMENT_STATUSES, type DeploymentView } from "../../api/deployments.ts";
import { failureOf } from "../../api/words/deployment-failures.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import { flagPlaces } from "../body.ts";
import { makeChange } from "../change.ts";
import { command, type OperatorRow } from "../command.ts";
import { isUnknownOperation } from "../failure.ts";
import { find, type Resource } from "../find.ts";
import { CHANGE, choice, type Given, LIST, onOff, text, texts, waiting } from "../flags.ts";
import { itemsIn, keepListed } from "../lists/listed.ts";
import { type ListView, showFacts, showList } from "../lists/show-list.ts";
import { refuseUsage } from "../refuse.ts";
import type { Answer, Service } from "../service.ts";
import { type Now, timeAgo } from "../times.ts";
import { type Ended, type Look, type Waited, waitUntilEnded } from "../wait.ts";
import {
  currentOn,
  deploymentText,
  fetchDeployment,
  isCurrent,
  listCurrentDeployments,
  listDeployments,
  statusText,
} from "./find.ts";

const LISTED = {
  robot: texts("<robot>", "only on this robot, by name or id; repeatable", { names: "robots" }),
  model: text("<model>", "only of this model", { names: "models" }),
  status: choice("<status>", "only with this status", DEPLOYMENT_STATUSES),
  all: onOff("include retired deployments"),
  ...LIST,
};

const DEPLOY = {
  robot: texts("<robot>", "robot, by name or id", { names: "robots", place: "robot" }),
  ...waiting("wait until it is ready: exit 0, or 6 if it needs attention, 7 if another replaces it, 1 after --timeout"),
  ...CHANGE,
};

/** What runs where. */
export const deploymentCommands: readonly OperatorRow[] = [
  command({
    name: "deploy",
    summary: "deploy a model to a robot",
    argument: "MODEL",
    flags: DEPLOY,
    examples: ["robot-policy deploy pi0.5 --robot arm-7 --wait"],
    run: deploy,
  }),
  command({
    name: "deployments list",
    aliases: ["ls"],
    summary: "list the deployments",
    flags: LISTED,
    examples: ["robot-policy deployments list", "robot-policy deployments list --status failed"],
    async run(service, flags) {
      const isPastWanted = flags.all === true || flags.status === "retired";
      const result = await (isPastWanted ? listDeployments(service) : listCurrentDeployments(service));
      const view = deploymentsView(service.terminal, flags);
      if (result.kind !== "ok") return showList(service, result, view);
      return showList(service, { ...result, value: keepListed(result.value, (each) => isWanted(each, flags)) }, view);
    },
  }),
  command({
    name: "deployments show",
    summary: "show a deployment, by its id or its robot",
    argument: "DEPLOYMENT",
    flags: {},
    examples: ["robot-policy deployments show arm-7"],
    async run(service, _flags, name) {
      const id = await findDeployment(service, name);
      if (typeof id === "number") return id;
      const result = await fetchDeployment(service, id);
      if (result.kind !== "ok") return service.failed(result);
      const { value, document } = result.value;
      return service.answer(document, () => showDeployment(value, service.terminal, service.now()));
    },
  }),
  command({
    name: "deployments retire",
    summary: "retire a deployment, by its id or its robot",
    argument: "DEPLOYMENT",
    flags: CHANGE,
    examples: ["robot-policy deployments retire arm-7", "robot-policy deployments retire arm-7 --dry-run"],
    async run(service, _flags, name) {
      const id = await findDeployment(service, name);
      return typeof id === "number" ? id : retire(service, id, name);
    },
  }),
];

const DEPLOYMENT: Resource<DeploymentView> = {
  noun: "deployment",
  list: "deployments list",
  by: "id or robot",
  load: listCurrentDeployments,
  idOf: ({ id }) => id,
  namesOf: ({ robot, robot_id: robotId }) => [robot, robotId],
};

/** @returns the id of a deployment, or an exit code after reporting that there is none. */
async function findDeployment(service: Service, name: string): Promise<string | ExitCode> {
  // An id of our own service needs no lookup.
  if (/^dep_[0-9a-z]{26}$/.test(name)) return name;
  const result = await listCurrentDeployments(service);
  if (result.kind !== "ok" && isUnknownOperation(result)) return name;
  const found = await find(service, { ...DEPLOYMENT, load: async () => result }, name);
  return typeof found === "number" ? found : found.value.id;
}

function retire(service: Service, id: string, name: string): Promise<ExitCode> {
  const { terminal } = service;
  return makeChange(service, {
    row: beyondSpec.retireDeployment,
    input: { parameters: { deployment_id: id } },
    async explain() {
      const found = await fetchDeployment(service, id);
      // If it cannot be read, the retirement itself will report the failure.
      if (found.kind !== "ok" || !isCurrent(found.value.value)) return null;
      terminal.note(`This retires ${deploymentText(found.value.value, service.now())}.`);
      terminal.note("The robot loses its endpoint.");
      return "Retire it?";
    },
    show({ model, robot, status }) {
      terminal.print(`${model ?? "The deployment"} on ${robot ?? name} is ${status} (${id}).`);
    },
  });
}

/** The service retires the robot's previous deployment in the same transaction. */
async function deploy(service: Service, flags: Given<typeof DEPLOY>, model: string): Promise<ExitCode> {
  const { terminal } = service;
  const [robot, ...more] = flags.robot ?? [];
  if (robot === undefined) return refuseUsage("no robot is given", "give --robot NAME", terminal);
  if (more.length > 0) {
    return refuseUsage("a deployment is for one robot", "run deploy once per robot, or create a fleet", terminal);
  }
  const body = { model, robot };
  return makeChange(service, {
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
    places: flagPlaces(DEPLOY, { model: "MODEL" }),
    wait: (created) => waitForDeployment(service, created),
    show: (deployment) => terminal.print(deployedText(deployment, body, terminal)),
  });
}

function waitForDeployment(service: Service, first: Answer<DeploymentView>): Promise<Waited<Answer<DeploymentView>>> {
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
    later: () => later,
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

function isWanted(deployment: DeploymentView, { robot, model, status, all }: Given<typeof LISTED>): boolean {
  if (status === undefined ? all !== true && !isCurrent(deployment) : deployment.status !== status) return false;
  if (model !== undefined && deployment.model !== model && deployment.subject_id !== model) return false;
  const { robot: name = null, robot_id: robotId = null } = deployment;
  return robot === undefined || robot.some((wanted) => wanted === name || wanted === robotId);
}

function deploymentsView(terminal: Terminal, flags: Given<typeof LISTED>): ListView<DeploymentView> {
  return {
    headers: ["robot", "model", "status", "reason", "region", "since", "id"],
    prose: ["model", "reason"],
    spare: ["region", "id"],
    row: (deployment, now) => [
      deployment.robot ?? deployment.robot_id ?? "",
      deployment.model ?? deployment.subject_id ?? "",
      statusText(deployment, terminal),
      reasonOf(deployment),
      deployment.region ?? "",
      timeAgo(deployment.created_at, now),
      deployment.id,
    ],
    empty: emptyText(flags),
  };
}

function emptyText({ robot, model, status, all }: Given<typeof LISTED>): string {
  const isFiltered = [robot, model, status].some((flag) => flag !== undefined);
  if (all === true || status !== undefined) return isFiltered ? "No deployment matches." : "Nothing was ever deployed.";
  return `${isFiltered ? "Nothing that matches is deployed" : "Nothing is deployed"}; --all shows retired deployments.`;
}

/** Why it failed; empty for a retired one, whose failure no longer matters. */
function reasonOf(deployment: DeploymentView): string {
  return deployment.status === "retired" ? "" : (failureOf(deployment)?.what ?? "");
}

function showDeployment(deployment: DeploymentView, terminal: Terminal, now: Now): void {
  showFacts(terminal, [
    ["deployment", deployment.id],
    ["status", statusText(deployment, terminal)],
    ["reason", reasonOf(deployment)],
    ["remedy", deployment.status === "retired" ? "" : (failureOf(deployment)?.remedy ?? "")],
    ["robot", named(deployment.robot, deployment.robot_id)],
    ["model", named(deployment.model, deployment.subject_id)],
    ["region", deployment.region ?? ""],
    ["endpoint", deployment.endpoint_url ?? ""],
    ["generation", deployment.active_generation_id ?? ""],
    ["created", timeAgo(deployment.created_at, now)],
    ["active", timeAgo(deployment.activated_at, now)],
    ["retired", timeAgo(deployment.retired_at, now)],
  ]);
}

function named(name: string | null | undefined, id: string | null | undefined): string {
  const known = name ?? id ?? "";
  return name === id || (id ?? "") === "" || known === id ? known : `${known} (${id})`;
}
