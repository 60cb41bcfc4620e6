/** What operators see of deployments: why one failed and what to do, and what ends with it. */
import type { DeploymentView } from "../api/deployments.ts";
import type { EndpointView } from "../api/endpoints.ts";
import { shortDuration } from "../platform/text/relative-time.ts";
import { exact, linkTo, past, present, type State, type View } from "./view.ts";

export const DEPLOYMENTS: View<DeploymentView> = {
  noun: "deployment",
  columns: [
    { name: "robot", show: robotOf },
    { name: "model", show: modelOf, weight: 2 },
    { name: "status", show: stateOf, sortKey: ({ status }) => MOST_URGENT_FIRST.indexOf(status) },
    { name: "reason", show: (deployment) => currentFailure(deployment)?.what ?? null, weight: 3 },
    { name: "region", show: ({ region }) => region ?? null, from: "medium" },
    { name: "since", show: ({ created_at: at }) => past(at) },
    { name: "retired", show: ({ retired_at: at }) => past(at) },
    { name: "checkpoint", show: ({ subject_id: id }) => id ?? null, from: "asked" },
    { name: "id", show: ({ id }) => id, from: "wide" },
  ],
  filters: [
    { name: "status", valuesOf: ({ status }) => [status] },
    { name: "model", valuesOf: (row) => [modelOf(row)] },
    { name: "robot", valuesOf: (row) => [robotOf(row)] },
    { name: "region", valuesOf: ({ region }) => present(region) },
  ],
  factsOf: (deployment) => [
    ["deployment", exact(deployment.id)],
    ["status", stateOf(deployment)],
    ["reason", currentFailure(deployment)?.what ?? null],
    ["remedy", currentFailure(deployment)?.remedy ?? null],
    ["warning", isCurrent(deployment) ? warningsOf(deployment).join(" ") : null],
    ["robot", linkTo("robots", deployment.robot, deployment.robot_id)],
    ["model", linkTo("models", deployment.model, deployment.subject_id)],
    ["region", deployment.region ?? null],
    ["endpoint", exact(deployment.endpoint_url)],
    ["generation", deployment.active_generation_id ?? null],
    ["created", past(deployment.created_at)],
    ["active", past(deployment.activated_at)],
    ["retired", past(deployment.retired_at)],
  ],
  empty: "Nothing is deployed",
};

const MOST_URGENT_FIRST: readonly string[] = ["failed", "preparing", "active", "retired"];

function stateOf({ status }: DeploymentView): State {
  return { kind: "state", state: status };
}

/** Its name, else its id; "" where the service tells neither. */
function robotOf({ robot, robot_id: robotId }: DeploymentView): string {
  return robot ?? robotId ?? "";
}

/** Its slug, else its checkpoint; "" where the service tells neither. */
function modelOf({ model, subject_id: subjectId }: DeploymentView): string {
  return model ?? subjectId ?? "";
}

/** Whether it is its robot's deployment. A failed one is: it becomes active again when its cause is fixed. */
export function isCurrent({ status }: DeploymentView): boolean {
  return status !== "retired";
}

/** The current deployment of the robot with this name or id. */
export function currentOn(robot: string, deployments: readonly DeploymentView[]): DeploymentView | undefined {
  return deployments.findLast((each) => isCurrent(each) && (each.robot === robot || each.robot_id === robot));
}

/** `pi0.5 on arm-7`. */
export function deploymentName(deployment: DeploymentView): string {
  return `${modelOf(deployment) || deployment.id} on ${robotOf(deployment) || "its robot"}`;
}

/** `pi0.5 on arm-7 (active for 3 d)`, for the middle of a sentence. */
export function deploymentText(deployment: DeploymentView, nowMs: number): string {
  const durationMs = nowMs - Date.parse(deployment.activated_at ?? deployment.created_at ?? "");
  const length = durationMs >= 0 ? ` for ${shortDuration(durationMs)}` : "";
  return `${deploymentName(deployment)} (${deployment.status}${length})`;
}

/** What the deployment of another model to its robot brings about. */
export function replacementConsequence(replaced: DeploymentView, nowMs: number): string {
  return `This retires ${deploymentText(replaced, nowMs)}.`;
}

/** What retiring it brings about. */
export function retirementConsequences(deployment: DeploymentView, nowMs: number): readonly string[] {
  const [model, robot] = [modelOf(deployment) || "It", robotOf(deployment) || "its robot"];
  return [
    `This retires ${deploymentText(deployment, nowMs)}.`,
    deployment.status === "active"
      ? `${model} stops serving ${robot} at once: stop the robot first.`
      : `${model} will not serve ${robot}, even after its problem is fixed.`,
    "The robot stays registered. A retired deployment cannot be restored.",
  ];
}

/** Why a deployment failed, and what to do. */
export interface DeploymentFailure {
  readonly what: string;
  /** "" where it is not known. */
  readonly remedy: string;
}

const FAILURES: ReadonlyMap<string, DeploymentFailure> = new Map(
  Object.entries({
    robot_incompatible: {
      what: "The robot lacks what the checkpoint needs.",
      remedy: "Set the robot up again so that it has what the model needs, or deploy another model.",
    },
    no_endpoint_in_region: {
      what: "The checkpoint has no endpoint in the robot's region.",
      remedy: "Ask the service's administrator to add one to the catalog, or correct the robot's region.",
    },
    preparation_timeout: {
      what: "Its endpoint was not healthy in time.",
      remedy: "Repair the inference server; the deployment then becomes active by itself.",
    },
    endpoint_failing: {
      what: "Its endpoint was healthy and fails now.",
      remedy: "Repair the inference server; the deployment then becomes active again by itself.",
    },
  }),
);

/** Null if the deployment has not failed. A code that this program does not know is shown as it is. */
export function failureOf({ last_error_code: code, warnings = [] }: DeploymentView): DeploymentFailure | null {
  if (code === null || code === undefined || code === "") return null;
  const known = FAILURES.get(code) ?? { what: `${code}.`, remedy: "" };
  return code === INCOMPATIBLE ? { ...known, what: warnings[0] ?? known.what } : known;
}

const INCOMPATIBLE = "robot_incompatible";

/** How the robot differs from those that its model was trained on, without what stops the deployment. */
export function warningsOf({ last_error_code: code, warnings = [] }: DeploymentView): readonly string[] {
  return code === INCOMPATIBLE ? warnings.slice(1) : warnings;
}

/** Null for a retired one, whose failure no longer matters. */
export function currentFailure(deployment: DeploymentView): DeploymentFailure | null {
  return isCurrent(deployment) ? failureOf(deployment) : null;
}

/** The endpoint that serves its robot, if that fails. */
export function failingEndpoint(
  { subject_id: checkpointId, region, status }: DeploymentView,
  endpoints: readonly EndpointView[],
): EndpointView | undefined {
  if (status !== "failed") return undefined;
  const own = endpoints.find((each) => each.checkpoint_id === checkpointId && each.region === region);
  return own?.status === "unhealthy" ? own : undefined;
}
