import { beyondSpec, operations } from "../../api/api.ts";
import { DEPLOYMENT_STATUSES, type DeploymentView } from "../../api/deployments.ts";
import type { CallResult } from "../../client/call-result.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import {
  currentOn,
  DEPLOYMENTS,
  deploymentName,
  failureOf,
  isCurrent,
  replacementConsequence,
  retirementConsequences,
  warningsOf,
} from "../../views/deployments.ts";
import { isWanted, toneOf } from "../../views/view.ts";
import { flagPlaces } from "../body.ts";
import { makeChange } from "../change.ts";
import { command, type OperatorRow } from "../command.ts";
import { isUnknownOperation } from "../failure.ts";
import { find, type Resource } from "../find.ts";
import { CHANGE, choice, type Given, LIST, onOff, text, texts, waiting } from "../flags.ts";
import { itemsIn, keepListed } from "../lists/listed.ts";
import { showFacts, showList } from "../lists/show-list.ts";
import { factTexts, tableOf, toned } from "../lists/shown.ts";
import { refuseUsage } from "../refuse.ts";
import type { Answer, Service } from "../service.ts";
import { type Ended, type Look, type Waited, waitUntilEnded } from "../wait.ts";

const LISTED = {
  robot: texts("<robot>", "only on this robot, by name or id; repeatable", { names: "robots" }),
  model: text("<model>", "only of this model", { names: "models" }),
  region: text("<region>", "only in this region", { names: "regions" }),
  status: choice("<status>", "only with this status", DEPLOYMENT_STATUSES),
  all: onOff("include retired deployments"),
  ...LIST,
};

const DEPLOY = {
  robot: texts("<robot>", "robot, by name or id", { required: true, names: "robots", place: "robot" }),
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
      const empty =
        isPastWanted || flags.status !== undefined
          ? "No deployment matches."
          : "Nothing that matches is deployed; --all shows retired deployments.";
      const view = { ...tableOf(DEPLOYMENTS, SHOWN), empty };
      if (result.kind !== "ok") return showList(service, result, view);
      const isShown = (each: DeploymentView) =>
        (isPastWanted || isCurrent(each)) && isAsked(each, flags, service.now().ms);
      return showList(service, { ...result, value: keepListed(result.value, isShown) }, view);
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
      return service.answer(document, () =>
        showFacts(service.terminal, factTexts(DEPLOYMENTS.factsOf(value), service.now(), service.terminal)),
      );
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

/** Columns that are shown unless others are named. */
const SHOWN = ["robot", "model", "status", "reason", "region", "since", "id"];

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
      for (const what of retirementConsequences(found.value.value, service.now().ms)) terminal.note(what);
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
  const [robot = "", ...more] = flags.robot ?? [];
  if (more.length > 0)
    return refuseUsage("a deployment is for one robot", "run deploy once per robot, or create a fleet", terminal);
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
      terminal.note(replacementConsequence(replaced, service.now().ms));
      return "Replace it?";
    },
    places: flagPlaces(DEPLOY, { model: "MODEL" }),
    wait: (created) => waitForDeployment(service, created),
    show(deployment) {
      const { id, status, endpoint_url: endpointUrl } = deployment;
      const where = (endpointUrl ?? "") === "" ? "" : `, at ${endpointUrl}`;
      const what = deploymentName({ ...body, ...deployment });
      terminal.print(`${what} is ${toned(status, toneOf(status), terminal)} (${id})${where}`);
      for (const warning of warningsOf(deployment)) terminal.warning(warning);
    },
  });
}

function waitForDeployment(service: Service, first: Answer<DeploymentView>): Promise<Waited<Answer<DeploymentView>>> {
  const { id } = first.value;
  const later = `it continues without this command: robot-policy deployments show ${id}; --timeout waits longer`;
  const look = ({ value }: Answer<DeploymentView>): Look => {
    const summary = `${deploymentName(value)} is ${value.status}`;
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

/** A robot and a model may be given by their ids, too. */
function isAsked(deployment: DeploymentView, { robot, model, region, status }: Given<typeof LISTED>, nowMs: number) {
  const { robot: name, robot_id: robotId, model: slug, subject_id: checkpointId } = deployment;
  return (
    (robot === undefined || robot.some((each) => each === name || each === robotId)) &&
    (model === undefined || model === slug || model === checkpointId) &&
    isWanted(DEPLOYMENTS, deployment, { region, status }, nowMs)
  );
}

/** Fetches the deployment: at our service's path, else at the path that clients of other services poll. */
async function fetchDeployment(service: Service, id: string): Promise<CallResult<Answer<DeploymentView>>> {
  const input = { parameters: { deployment_id: id } };
  const result = await service.call(beyondSpec.getDeployment, input);
  return result.kind !== "ok" && isUnknownOperation(result) ? service.call(beyondSpec.pollDeployment, input) : result;
}

/** All deployments that ever were. */
function listDeployments(service: Service) {
  return service.listAll(beyondSpec.listDeployments, ({ items }) => items);
}

/** Without retired deployments, unless the service does not know the query. */
export function listCurrentDeployments(service: Service) {
  return service.listAll(beyondSpec.listDeployments, ({ items }) => items, { query: { current: "true" } });
}
