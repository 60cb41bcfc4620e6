import { beyondSpec } from "../../api/api.ts";
import { type RobotContract, robotContractSchema } from "../../api/contract.ts";
import type { RegistrationRecord, RegistrationView } from "../../api/registrations.ts";
import { CONTRACT_SCHEMA } from "../../api/robot-terms.ts";
import { ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import type { IdentifiedRobotView } from "../../api/robot-views.ts";
import { contestInWords, refusalInWords } from "../../api/words/audit.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import { type Given, onOff } from "../flags.ts";
import { DOCUMENT_REMEDY, type Fact, noteHidden, showFacts } from "../lists/show-list.ts";
import { callIfOffered, type Service } from "../service.ts";
import { warnOfRegion, warnOfType } from "./registration-checks.ts";
import { labelsText, shortDigest, statusText } from "./words.ts";
import { type Now, timeAgo } from "../times.ts";

export const SHOW = {
  history: onOff("show its registrations, what changed, and who sent them"),
  contract: onOff("show the cameras and axes that it registered"),
};

/**
 * Shows one robot, with its registration. `--json` prints the service's answer with the registration and, with `--history`, the history
 * added; each is null where the service does not have it.
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
  const history = flags.history === true ? await callIfOffered(service, beyondSpec.getRobotHistory, input) : null;
  if (typeof history === "number") return history;
  if (service.flags.json === true) {
    const more = flags.history === true ? { history: history?.document ?? null } : {};
    terminal.json(Object.assign({}, document, { registration: registration?.document ?? null }, more));
    return EXIT.ok;
  }
  const now = service.now();
  showRobotFacts(robot, registration?.value ?? null, flags.contract === true, terminal, now);
  if (registration !== null) warnOfType(registration.value, terminal);
  await warnOfRegion(service, robot.region, terminal);
  if (flags.contract === true && registration !== null) {
    const { contract } = registration.value;
    if (contract === null) terminal.note("It registered by its type alone, without a contract.");
    else showContract(contract, terminal);
  }
  if (history !== null) showHistory(history.value.items, terminal, now);
  if (registration === null && flags.contract === true) terminal.note("This service does not show contracts.");
  if (history === null && flags.history === true) terminal.note("This service does not keep the history of robots.");
  return EXIT.ok;
}

function showRobotFacts(
  robot: IdentifiedRobotView,
  registration: RegistrationView | null,
  hasContractBelow: boolean,
  terminal: Terminal,
  now: Now,
): void {
  const isContractTold = registration !== null && !hasContractBelow;
  showFacts(terminal, [
    ["robot", `${robot.name} (${robot.id})`],
    ["status", statusText(robot, now)],
    ["type", robot.robot_type_id],
    ["region", robot.region],
    ...ROBOT_TEXT_NAMES.map((text): Fact => [text, robot[text] ?? ""]),
    ["labels", labelsText(robot)],
    ["digest", registration?.configuration_digest ?? ""],
    ["changed", timeAgo(registration?.changed_at, now)],
    ["registered", timeAgo(registration?.registered_at, now)],
    ["added", timeAgo(robot.created_at, now)],
    ["contract", isContractTold ? (registration.contract === null ? "none" : "--contract shows it") : ""],
    ...contestFacts(registration, now),
    ...refusalFacts(registration, now),
  ]);
}

/** Contested: two computers register the same name in turn, and each replaces the other's registration. */
function contestFacts(registration: RegistrationView | null, now: Now): readonly Fact[] {
  const contest = registration === null ? null : contestInWords(registration);
  if (contest === null) return [];
  return [
    ["contested", `${contest.what}, since ${timeAgo(registration?.contested_since, now)}`],
    ["", `from ${contest.from}`],
    ["", `→ ${contest.remedy}`],
  ];
}

/** The newest registration, if it was refused. */
function refusalFacts(registration: RegistrationView | null, now: Now): readonly Fact[] {
  const refusal = registration?.last_refusal ?? null;
  if (refusal === null) return [];
  const { at, actor, address } = refusal;
  return [
    ["refused", `${timeAgo(at, now)}: ${refusalInWords(refusal)}`],
    ["", `from ${address} (${actor.label ?? actor.id})`],
  ];
}

function showHistory(items: readonly RegistrationRecord[], terminal: Terminal, now: Now): void {
  terminal.heading("registrations", ", newest first");
  terminal.table(
    ["when", "digest", "changed", "by", "from"],
    items.map(({ at, configuration_digest: configurationDigest, changed, actor, address, contested }) => [
      timeAgo(at, now),
      shortDigest(configurationDigest),
      `${changed === null ? "" : changed.length === 0 ? "nothing" : changed.join(" ")}${contested ? " (contested)" : ""}`,
      actor.label ?? actor.id,
      address,
    ]),
    ["changed", "by"],
  );
}

/** Shows a contract as tables, or as JSON where it has another schema than this project's. */
function showContract(contract: Readonly<Record<string, unknown>>, terminal: Terminal): void {
  const read = contract["schema"] === CONTRACT_SCHEMA ? robotContractSchema.safeParse(contract) : null;
  if (read?.success !== true) {
    terminal.printText(JSON.stringify(contract, null, 2));
    return;
  }
  const robot = read.data;
  terminal.print("");
  showFacts(terminal, [
    ["topology", robot.topology],
    ["actions", robot.action_semantics],
    ["gripper", robot.gripper],
    ["control rate", `${robot.control_rate_hz} Hz`],
  ]);
  showCameras(robot.cameras, terminal);
  showAxes("state axes", robot.state_axes, terminal);
  showAxes("action axes", robot.action_axes, terminal);
}

function showCameras(cameras: RobotContract["cameras"], terminal: Terminal): void {
  terminal.heading("cameras");
  terminal.table(
    ["role", "mount", "image", "rate", "turned"],
    cameras.map(({ role, mount, side, width, height, fps, rotation_degrees: rotationDegrees }) => [
      role,
      side === undefined ? mount : `${mount} ${side}`,
      `${width} × ${height}`,
      `${fps} fps`,
      rotationDegrees === 0 ? "" : `${rotationDegrees}°`,
    ]),
  );
}

type Axis = RobotContract["state_axes"][number] & { readonly max_step?: number | undefined };

/** Numbered by their index in the vector. */
function showAxes(title: string, axes: readonly Axis[], terminal: Terminal): void {
  terminal.heading(title, ", in vector order");
  const hidden = terminal.table(
    ["#", "axis", "unit", "range", "step", "robot's own"],
    axes.map(({ name, unit, range, max_step: maxStep, native }, index) => [
      String(index),
      name,
      unit,
      range === undefined ? "" : `${range[0]} … ${range[1]}`,
      maxStep === undefined ? "" : String(maxStep),
      native === undefined ? "" : `${native.unit} × ${native.scale} + ${native.offset}`,
    ]),
    [],
    ["robot's own", "step"],
  );
  noteHidden(hidden, DOCUMENT_REMEDY, terminal);
}
