import type { DeploymentView } from "../../api/deployments.ts";
import { failureOf } from "../../api/words/deployment-failures.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { relativeTime } from "../../platform/text/relative-time.ts";
import type { OperatorContext } from "../context.ts";
import { isUnknownOperation } from "../failure.ts";
import type { OperatorFlags } from "../flags.ts";
import type { ListView } from "../lists/columns.ts";
import { keepListed } from "../lists/listed.ts";
import { showFacts } from "../lists/show-facts.ts";
import { showList } from "../lists/show-list.ts";
import { withService } from "../operator.ts";
import { refuseMissingOperation } from "../refuse.ts";
import { withNamed } from "../with-named.ts";
import { findDeployment, isCurrent, listDeployments, fetchDeployment } from "./find.ts";

const ASK_BY_ID = "keep the id that deploy prints, and try deployments show ID";

/** `deployments list`: current deployments; with `--all` also retired ones. */
export async function deploymentsList(flags: OperatorFlags, context: OperatorContext): Promise<ExitCode> {
  const { terminal } = context;
  return withService(flags, context, async (service) => {
    const load = async () => {
      const result = await listDeployments(service);
      return result.kind === "ok"
        ? { ...result, value: keepListed(result.value, (each) => isWanted(each, flags)) }
        : result;
    };
    const first = await load();
    if (first.kind !== "ok" && isUnknownOperation(first))
      return refuseMissingOperation("does not list its deployments", ASK_BY_ID, terminal);
    return showList(service, load, deploymentsView(terminal, flags), flags, context, first);
  });
}

/** `deployments show ID`: by id, or by the robot it runs on. */
export async function deploymentsShow(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  const { terminal, machine } = context;
  return withNamed(findDeployment, flags, context, name, async (service, id) => {
    const result = await fetchDeployment(service, id);
    if (result.kind !== "ok") {
      if (!isUnknownOperation(result)) return service.failed(result);
      return refuseMissingOperation(
        "does not show deployments",
        "fleets show names the robots with their state",
        terminal,
      );
    }
    if (flags.json === true) terminal.json(result.value.document);
    else showDeployment(result.value.value, terminal, machine.clock.wallMs());
    return EXIT.ok;
  });
}

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
    row: (deployment, nowMs) => [
      deployment.robot ?? deployment.robot_id ?? "",
      deployment.model ?? deployment.subject_id ?? "",
      statusText(deployment, terminal),
      reasonOf(deployment),
      deployment.region ?? "",
      relativeTime(deployment.created_at, nowMs),
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

function statusText({ status }: DeploymentView, terminal: Terminal): string {
  switch (status) {
    case "active":
      return terminal.style("good", status);
    case "failed":
      return terminal.style("bad", status);
    case "retired":
      return terminal.style("dim", status);
    default:
      return terminal.style("warn", status);
  }
}

function showDeployment(deployment: DeploymentView, terminal: Terminal, nowMs: number): void {
  showFacts(
    [
      ["deployment", deployment.id],
      ["status", statusText(deployment, terminal)],
      ["reason", reasonOf(deployment)],
      ["remedy", deployment.status === "retired" ? "" : (failureOf(deployment)?.remedy ?? "")],
      ["robot", named(deployment.robot, deployment.robot_id)],
      ["model", named(deployment.model, deployment.subject_id)],
      ["region", deployment.region ?? ""],
      ["endpoint", deployment.endpoint_url ?? ""],
      ["generation", deployment.active_generation_id ?? ""],
      ["created", relativeTime(deployment.created_at, nowMs)],
      ["active", relativeTime(deployment.activated_at, nowMs)],
      ["retired", relativeTime(deployment.retired_at, nowMs)],
    ],
    terminal,
  );
}

function named(name: string | null | undefined, id: string | null | undefined): string {
  const known = name ?? id ?? "";
  return name === id || (id ?? "") === "" || known === id ? known : `${known} (${id})`;
}
