import { beyondSpec } from "../../api/api.ts";
import type { DeploymentView } from "../../api/deployments.ts";
import { failureOf } from "../../api/words/deployment-failures.ts";
import type { Terminal } from "../../platform/terminal.ts";
import { makeChange } from "../change.ts";
import type { OperatorCommand } from "../context.ts";
import type { OperatorFlags } from "../flags.ts";
import type { ListView } from "../lists/columns.ts";
import { keepListed, type LoadList } from "../lists/listed.ts";
import { showFacts } from "../lists/show-facts.ts";
import { showList } from "../lists/show-list.ts";
import { withNamed, withService } from "../operator.ts";
import {
  deploymentText,
  fetchDeployment,
  findDeployment,
  isCurrent,
  listCurrentDeployments,
  listDeployments,
  statusText,
} from "./find.ts";
import { type Now, timeAgo } from "../times.ts";

/** `deployments list`: current deployments; with `--all` also retired ones. */
export const deploymentsList: OperatorCommand = (flags, context) =>
  withService(flags, context, (service) => {
    const load: LoadList<DeploymentView> = async () => {
      const isPastWanted = flags.all === true || flags.status === "retired";
      const result = await (isPastWanted ? listDeployments(service) : listCurrentDeployments(service));
      if (result.kind !== "ok") return result;
      return { ...result, value: keepListed(result.value, (each) => isWanted(each, flags)) };
    };
    const missing = [
      "does not list its deployments",
      "keep the id that deploy prints, and try deployments show ID",
    ] as const;
    return showList(service, load, deploymentsView(service.terminal, flags), { missing });
  });

/** `deployments show ID`: by id, or by the robot it runs on. */
export const deploymentsShow: OperatorCommand = (flags, context, name) =>
  withNamed(findDeployment, flags, context, name, async (service, id) => {
    const result = await fetchDeployment(service, id);
    if (result.kind !== "ok") {
      const fix = "fleets show names the robots with their state";
      return service.failed(result, { missing: ["does not show deployments", fix] });
    }
    const { value, document } = result.value;
    return service.answer(document, () => showDeployment(value, service.terminal, service.now()));
  });

/** `deployments retire DEPLOYMENT`: by id, or by the robot it runs on. */
export const deploymentsRetire: OperatorCommand = (flags, context, name) =>
  withNamed(findDeployment, flags, context, name, (service, id) => {
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
      missing: [
        "does not retire deployments",
        "deploy another model to the robot: a new deployment replaces the old one",
      ],
      show({ model, robot, status, id }) {
        terminal.print(`${model ?? "The deployment"} on ${robot ?? name} is ${status} (${id}).`);
      },
    });
  });

function isWanted(deployment: DeploymentView, { robot, model, status, all }: OperatorFlags): boolean {
  if (status === undefined ? all !== true && !isCurrent(deployment) : deployment.status !== status) return false;
  if (model !== undefined && deployment.model !== model && deployment.subject_id !== model) return false;
  const { robot: name = null, robot_id: robotId = null } = deployment;
  return robot === undefined || robot.some((wanted) => wanted === name || wanted === robotId);
}

function deploymentsView(terminal: Terminal, flags: OperatorFlags): ListView<DeploymentView> {
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
    id: ({ id }) => id,
    empty: emptyText(flags),
  };
}

function emptyText({ robot, model, status, all }: OperatorFlags): string {
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
