/** What operators see of robots. */
import type { DeploymentView } from "../api/deployments.ts";
import type { RegistrationRecord, RegistrationSummary, RegistrationView } from "../api/registrations.ts";
import { ROBOT_TEXT_NAMES } from "../api/robot-texts.ts";
import type { IdentifiedRobotView, RobotPresence } from "../api/robot-views.ts";
import { failureOf, warningsOf } from "./deployments.ts";
import { changeText } from "./differences.ts";
import {
  type Column,
  digest,
  exact,
  type Fact,
  inWords,
  labelTexts,
  type Links,
  type Listing,
  type OwnNeed,
  past,
  present,
  type Shown,
  type State,
} from "./view.ts";

/** What is known of a robot; null if the service does not tell. Others may know `status` alone, ours of before too. */
export function presenceOf({ presence, status, installation_id: id }: IdentifiedRobotView): RobotPresence | null {
  if (status === null || id !== null) return presence ?? status;
  return "not_monitored";
}

/** Whether a computer with a credential of its own speaks for the robot. A service without enrolment shows none. */
export function isEnrolled({ installation_id: id }: Pick<IdentifiedRobotView, "installation_id">): boolean {
  return id !== null;
}

/** A robot, with its last registration: undefined while that is not known, null where the service shows none. */
export interface ListedRobot<Registration = RegistrationSummary> {
  readonly view: IdentifiedRobotView;
  readonly registration: Registration | null | undefined;
}

/** Null where the service does not say. */
export function robotState({ view, registration }: ListedRobot): State | null {
  const { last_seen_at: lastSeenAt, not_ready_reason: reason } = view;
  const contestedSince = registration?.contested_since ?? null;
  if (contestedSince !== null)
    return { kind: "state", state: "contested", since: contestedSince, reason: "computers register this name in turn" };
  const presence = presenceOf(view);
  switch (presence) {
    case null:
      return null;
    case "online":
    case "not_monitored":
      return { kind: "state", state: presence };
    case "offline":
      return { kind: "state", state: presence, since: lastSeenAt };
    case "not_ready":
      return { kind: "state", state: presence, reason: reason ?? "it does not say why" };
  }
}

/** Every state, for filters. */
export const ROBOT_STATES = ["online", "not_ready", "offline", "not_monitored", "contested"];

const DAY_MS = 86_400_000;
const CHANGED_DAYS = [1, 7, 30];

/** A column of the registration: undefined where that is not loaded. */
function ofRegistration(
  name: string,
  valueOf: (registration: RegistrationSummary) => Shown,
  more: Partial<Column<ListedRobot>> = {},
): Column<ListedRobot> {
  return { name, show: ({ registration }) => registration && valueOf(registration), ...more };
}

export const ROBOTS: Listing<ListedRobot> = {
  noun: "robot",
  columns: [
    { name: "name", show: ({ view }) => view.name, weight: 1.4 },
    { name: "state", show: robotState, weight: 1.3 },
    { name: "reason", show: (robot) => robotState(robot)?.reason ?? null, from: "asked", weight: 3 },
    ...ROBOT_TEXT_NAMES.map((name): Column<ListedRobot> => ({ name, show: ({ view }) => view[name] })),
    { name: "type", show: ({ view }) => view.robot_type_id, weight: 1.5 },
    { name: "region", show: ({ view }) => view.region, from: "medium" },
    { name: "labels", show: ({ view }) => ({ kind: "labels", labels: view.labels }), from: "wide", weight: 1.6 },
    ofRegistration("digest", (known) => digest(known.configuration_digest), { from: "medium" }),
    ofRegistration("changed", (known) => past(known.changed_at), { first: "down" }),
    ofRegistration("registered", (known) => past(known.registered_at), { from: "asked", first: "down" }),
    { name: "added", show: ({ view }) => past(view.created_at), from: "wide", first: "down" },
    { name: "id", show: ({ view }) => view.id, from: "asked" },
  ],
  filters: [
    ...ROBOT_TEXT_NAMES.map((name) => ({ name, valuesOf: ({ view }: ListedRobot) => present(view[name]) })),
    { name: "state", valuesOf: (robot) => present(robotState(robot)?.state) },
    { name: "type", valuesOf: ({ view }) => [view.robot_type_id] },
    { name: "region", valuesOf: ({ view }) => [view.region] },
    { name: "label", valuesOf: ({ view }) => labelTexts(view.labels) },
    {
      name: "changed",
      valuesOf: ({ registration }, nowMs) => {
        const ageMs = nowMs - Date.parse(registration?.changed_at ?? "");
        return CHANGED_DAYS.filter((days) => ageMs < days * DAY_MS).map((days) =>
          days === 1 ? "last_1_day" : `last_${days}_days`,
        );
      },
    },
  ],
  empty: "No robot is registered yet",
};

/** A robot as its page shows it. */
export interface ShownRobot extends ListedRobot<RegistrationView> {
  /** Its current one; null for none, undefined while that is not known, "hidden" where it stays so. */
  readonly deployment: DeploymentView | null | undefined | "hidden";
}

/** The pages of the console. */
function deploymentPath(id: string): string {
  return `/deployments?${new URLSearchParams({ open: id }).toString()}`;
}

/** What the robot runs. */
function runs(deployment: ShownRobot["deployment"]): string | null | Links | undefined {
  if (deployment === undefined) return undefined;
  if (deployment === "hidden") return null;
  if (deployment === null) return "nothing";
  const { id, model, subject_id: subjectId, status } = deployment;
  const failure = failureOf(deployment);
  const state = failure === null ? status : `${status}: ${failure.what}`;
  return { kind: "links", links: [{ text: `${model ?? subjectId ?? id} (${state})`, path: deploymentPath(id) }] };
}

function fleetLinks({ fleets = [] }: IdentifiedRobotView): Links {
  const links = fleets.map(({ id, name, subject }) => ({
    text: `${name} (${subject})`,
    path: `/fleets/${encodeURIComponent(id)}`,
  }));
  return { kind: "links", links };
}

/** @param regions those with an endpoint; none where that is not known. */
export function robotFacts(shown: ShownRobot, regions: readonly string[] = []): readonly Fact[] {
  const { view, registration, deployment } = shown;
  const hasEndpoint = regions.length === 0 || regions.includes(view.region);
  return [
    ["state", stateInFull(shown)],
    ["type", view.robot_type_id],
    ["runs", runs(deployment)],
    ["fleets", fleetLinks(view)],
    ...ROBOT_TEXT_NAMES.map((text): Fact => [inWords(text), view[text]]),
    ["region", hasEndpoint ? view.region : `${view.region} (no endpoint in this region)`],
    ["labels", { kind: "labels", labels: view.labels }],
    ["digest", digest(registration?.configuration_digest)],
    ["changed", past(registration?.changed_at)],
    ["registered", past(registration?.registered_at)],
    ["added", past(view.created_at)],
  ];
}

/** The state, with what a list leaves out: it would say the same of many robots. */
export function stateInFull(robot: ListedRobot): State | null {
  const state = robotState(robot);
  if (state?.state === "not_monitored") return { ...state, reason: "no computer is enrolled" };
  return state?.state === "offline" && state.since === null ? { ...state, reason: "never seen" } : state;
}

/** What a person should look after, beside what its computer needs. */
export function robotNeeds({ view, registration, deployment }: RunningRobot): readonly OwnNeed[] {
  const needs = [notReadyNeed(view), modelsNeed(view), ...warningNeeds(deployment)];
  if (registration !== null && registration !== undefined)
    needs.push(contestNeed(registration), refusalNeed(registration));
  return needs.filter((need) => need !== null);
}

interface RunningRobot extends ListedRobot<RegistrationView> {
  /** What it runs: null for nothing, undefined where that is not known. */
  readonly deployment?: DeploymentView | null | undefined;
}

/** How it differs from the robots that its model was trained on. */
function warningNeeds(deployment: DeploymentView | null | undefined): readonly OwnNeed[] {
  if (deployment === null || deployment === undefined) return [];
  return warningsOf(deployment).map((reason) => {
    return {
      reason: reason.replace(/\.$/, ""),
      action: "Put it back as it was, or deploy a model that was trained on it",
    };
  });
}

/** What the robot's computer says in its heartbeats. */
function notReadyNeed(view: IdentifiedRobotView): OwnNeed | null {
  if (presenceOf(view) !== "not_ready") return null;
  const detail = view.not_ready_reason ?? "It does not say why";
  return { reason: "This robot cannot register", detail, action: "Its last registration stays until it can" };
}

/** A robot runs one model at a time, whatever its fleets have. */
function modelsNeed({ fleets = [] }: IdentifiedRobotView): OwnNeed | null {
  if (new Set(fleets.map(({ subject }) => subject)).size < 2) return null;
  const detail = fleets.map(({ name, subject }) => `${name} has ${subject}`).join(", ");
  const action = "It runs the model that was deployed to it last; take it out of the other fleet";
  return { reason: "Its fleets have different models", detail, action };
}

/** Computers register the same name in turn, and each replaces the other's registration. */
export function contestNeed({
  contested_since: since,
  contested_from: contestedFrom,
}: Pick<RegistrationView, "contested_since" | "contested_from">): OwnNeed | null {
  if (since === null) return null;
  const count = contestedFrom.length;
  return {
    reason:
      count < 2 ? "Its registration alternates between two contents" : `${count} computers register this name in turn`,
    since,
    detail: `From ${contestedFrom.map(({ address, actor }) => `${address} (${actor.label ?? actor.id})`).join(" and ")}`,
    action: `${count < 2 ? "If two computers there have this name, give" : "Give"} each computer its own name`,
  };
}

/** The newest registration, if it was refused. */
function refusalNeed({ last_refusal: refusal }: RegistrationView): OwnNeed | null {
  if (refusal === null) return null;
  const { at, actor, address, detail, status } = refusal;
  return {
    reason: "The newest registration was refused",
    since: at,
    detail: `From ${address} (${actor.label ?? actor.id}): ${detail} (${status})`,
    action: "The last accepted one stays",
  };
}

/** The registrations of a robot that changed something. */
export const REGISTRATIONS: readonly Column<RegistrationRecord>[] = [
  { name: "when", show: ({ at }) => past(at) },
  { name: "changed", show: changeText, weight: 2 },
  { name: "digest", show: (record) => digest(record.configuration_digest) },
  { name: "by", show: ({ actor }) => actor.label ?? actor.id, weight: 1.1 },
  { name: "from", show: ({ address }) => address },
  { name: "id", show: (record) => exact(record.registration_id), from: "terminal" },
];

/** What ends with the robot, in sentences. */
export function removalOf(view: IdentifiedRobotView, deployment: DeploymentView | null | undefined): readonly string[] {
  const { fleets = [] } = view;
  const names = fleets.map(({ name }) => name).join(", ");
  return [
    isEnrolled(view) ? "Its computer loses its credential." : "",
    deployment === null || deployment === undefined
      ? ""
      : `${deployment.model ?? "Its model"} does not serve it any more: its deployment is retired.`,
    names === "" ? "" : `It stays a member of ${names}, as a blocked member, until the fleet is reconciled.`,
    "Its history and usage stay, and its name is free for another robot.",
  ].filter((sentence) => sentence !== "");
}

/** What another name changes, in sentences. */
export function renamingOf(view: IdentifiedRobotView): readonly string[] {
  return [
    "Its id, computer, deployments and fleets stay.",
    isEnrolled(view)
      ? "Its agent learns the new name by itself."
      : "Its agent registers under the old name until its configuration has the new one.",
  ];
}
