import { beyondSpec } from "../../api/api.ts";
import type { RegistrationSummary } from "../../api/registrations.ts";
import { ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import type { IdentifiedRobotView, RobotView } from "../../api/robot-views.ts";
import type { CallResult } from "../../client/call-result.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import {
  isEnrolled,
  type ListedRobot,
  presenceOf,
  removalOf,
  renamingOf,
  ROBOT_STATES,
  ROBOTS,
  stateInFull,
} from "../../views/robots.ts";
import { isWanted, labelTexts } from "../../views/view.ts";
import { flagPlaces } from "../body.ts";
import { makeChange, type Change } from "../change.ts";
import { command, type OperatorRow } from "../command.ts";
import { isUnknownOperation, refuseNotOffered, isNothingNamed } from "../failure.ts";
import { withFound, find } from "../find.ts";
import { CHANGE, choice, CSV, type Given, LIST, SELECTOR, text, DRY_RUN, wholeNumber } from "../flags.ts";
import { itemsIn, keepListed, type Listed } from "../lists/listed.ts";
import { namedColumns, showList } from "../lists/show-list.ts";
import { inOrderOf, shownText, tableOf } from "../lists/shown.ts";
import { readTimeFlag, timeAgo } from "../times.ts";
import { type Answer, NOTHING_LISTED, type Service } from "../service.ts";
import { differenceCommands } from "./differences.ts";
import { listRobots, ROBOT } from "./find.ts";
import { SETUP, setUpRobot } from "./setup.ts";
import { currentDeployment, SHOW, showRobot } from "./show.ts";
import { type InstallationChange, type InstallationView, RECOVERIES } from "../../api/installations.ts";
import { ENROLL_COMMAND, THAWING } from "../../views/computers.ts";
import { refuse } from "../refuse.ts";

const USUAL_COLUMNS = ["name", "state", "reason", ...ROBOT_TEXT_NAMES, "type", "region", "labels", "added"];
const REGISTRATION_COLUMNS: ReadonlySet<string> = new Set(["digest", "changed", "registered"]);

const LISTED = {
  ...SELECTOR,
  state: choice("<state>", "only robots in this state", ROBOT_STATES),
  changedSince: text("<when>", "only robots whose registration changed since then: 1d, 12h, 2026-01-31"),
  sort: choice(
    "<column>",
    "sort by this column; of times, the latest comes first",
    ROBOTS.columns.map(({ name }) => name),
  ),
  ...CSV,
  ...LIST,
};

const RECOVERY = {
  times: wholeNumber("<number>", "how often, 0 to 100; restarts the recovery window", RECOVERIES, {
    required: true,
    place: "recoveries_remaining",
  }),
  ...DRY_RUN,
};

/** Registered robots and their computers. Enrolments are in another folder. */
export const robotCommands: readonly OperatorRow[] = [
  command({
    name: "robots list",
    aliases: ["ls"],
    summary: "list the registered robots, oldest first",
    flags: LISTED,
    examples: [
      "robot-policy robots list --site plant-1 --label cell=packing",
      "robot-policy robots list --state offline",
      "robot-policy robots list --changed-since 1d --sort changed --columns name,digest,changed",
      "robot-policy robots list --csv > robots.csv",
    ],
    run: list,
  }),
  command({
    name: "robots show",
    summary: "show a robot, by name or id",
    argument: "ROBOT",
    flags: SHOW,
    examples: ["robot-policy robots show arm-7", "robot-policy robots show arm-7 --contract"],
    run: (service, flags, name) =>
      withFound(service, ROBOT, name, (robot, document) => showRobot(service, flags, robot, document)),
  }),
  ...differenceCommands,
  command({
    name: "robots setup",
    summary: "register a robot that runs no agent; a registered robot keeps what is not given again",
    flags: SETUP,
    examples: [
      "robot-policy robots setup --name arm-7 --type lerobot.so101-follower.v1 --region us-west-2 --file calibration.json",
      "robot-policy robots setup --name arm-7 --site plant-1 --dry-run",
      "robot-policy robots setup --name cell-4 --region us-west-2 --manifest robot-manifest.yaml",
    ],
    run: setUpRobot,
  }),
  command({
    name: "robots rename",
    summary: "give a robot another name; its id, computer, deployments and fleets stay",
    argument: "ROBOT NAME",
    flags: CHANGE,
    examples: ["robot-policy robots rename arm-7 arm-8"],
    run: (service, _flags, name, newName) =>
      withFound(service, ROBOT, name, (robot) => rename(service, robot, newName)),
  }),
  command({
    name: "robots remove",
    aliases: ["rm"],
    summary: "remove a robot: its computer loses its credential, and its name is free",
    argument: "ROBOT",
    flags: CHANGE,
    examples: ["robot-policy robots remove arm-7", "robot-policy robots remove arm-7 --dry-run"],
    run: (service, _flags, name) => withFound(service, ROBOT, name, (robot) => remove(service, robot)),
  }),
  command({
    name: "robots thaw",
    summary: "let a robot that was frozen by a false alarm work again",
    argument: "ROBOT",
    flags: CHANGE,
    examples: ["robot-policy robots thaw arm-7"],
    async run(service, _flags, name) {
      const found = await findInstallation(service, name);
      return typeof found === "number" ? found : thaw(service, found);
    },
  }),
  command({
    name: "robots allow-recovery",
    summary: "let a robot that was away for long renew its expired credential",
    argument: "ROBOT",
    flags: RECOVERY,
    examples: ["robot-policy robots allow-recovery arm-7 --times 5"],
    async run(service, { times = 0 }, name) {
      const found = await findInstallation(service, name);
      return typeof found === "number" ? found : allowRecovery(service, found, times);
    },
  }),
];

/** All registered robots, or those that match; oldest first by default. */
async function list(service: Service, flags: Given<typeof LISTED>): Promise<ExitCode> {
  const { terminal, context } = service;
  const { site, region, type, label = {}, state, changedSince, columns, sort = "" } = flags;
  const since = changedSince === undefined ? undefined : readTimeFlag("--changed-since", changedSince, context);
  if (since === null) return EXIT.usage;
  const isRegistrationAsked =
    since !== undefined || [...namedColumns({ columns }), sort].some((name) => REGISTRATION_COLUMNS.has(name));
  // A table also shows which names are contested.
  const unasked = service.flags.json === true ? "no" : "if-shown";
  const result = await loadRobots(service, isRegistrationAsked ? "asked" : unasked);
  const view = tableOf(ROBOTS, USUAL_COLUMNS);
  if (result.kind !== "ok") return showList(service, result, view);
  const robots = itemsIn(result.value);
  const hasRegistrations = robots.every(({ registration }) => registration !== undefined);
  if (state !== undefined && robots.some((robot) => presenceOf(robot.view) === null))
    return refuseNotOffered("say which robots are online", terminal);
  if (since !== undefined && !hasRegistrations) return refuseNotOffered("say when robots changed", terminal);
  if (isRegistrationAsked && !hasRegistrations)
    terminal.note("This service does not show digests and when they changed.");
  const isSelected = (robot: ListedRobot) =>
    isWanted(ROBOTS, robot, { site, region, type }, service.now().ms) &&
    labelTexts(label).every((text) => labelTexts(robot.view.labels).includes(text)) &&
    (since === undefined || Date.parse(robot.registration?.changed_at ?? "") >= since.timeMs);
  const isInState = (robot: ListedRobot) => isWanted(ROBOTS, robot, { state }, service.now().ms);
  const { records } = keepListed(result.value, (robot) => isSelected(robot) && isInState(robot));
  const compare = inOrderOf(ROBOTS, sort);
  const sorted = records.toSorted((left, right) => compare(left.value, right.value));
  const empty = robots.length === 0 ? view.empty : "No robot matches.";
  const exitCode = showList(service, { ...result, value: { ...result.value, records: sorted } }, { ...view, empty });
  if (state === "online" || state === "offline") noteUnmonitored(robots.filter(isSelected), terminal);
  return exitCode;
}

/** Says how many robots are neither online nor offline, because they have no enrolled computer that sends heartbeats. */
function noteUnmonitored(robots: readonly ListedRobot[], terminal: Terminal): void {
  const count = robots.filter(({ view }) => presenceOf(view) === "not_monitored").length;
  if (count > 0)
    terminal.note(
      `${count} not monitored, because no computer is enrolled: robot-policy robots list --state not_monitored`,
    );
}

/** The robots, with their registrations as far as the service shows them. @param wants fails without them only if they are asked for. */
export async function loadRobots(
  service: Service,
  wants: "asked" | "if-shown" | "no",
): Promise<CallResult<Listed<ListedRobot>>> {
  const robots = await listRobots(service);
  if (robots.kind !== "ok") return robots;
  const registrations = wants === "no" ? NOTHING_LISTED : await loadRegistrations(service);
  if (registrations.kind !== "ok" && wants === "asked") return registrations;
  const known = registrations.kind === "ok" ? registrations.value : null;
  const records = robots.value.records.map((record) => withRegistration(record, known));
  return { ...robots, value: { ...robots.value, records } };
}

type Registrations = ReadonlyMap<string, Answer<RegistrationSummary>>;

/** Registrations by robot id; null where the service has no such list. */
async function loadRegistrations(service: Service): Promise<CallResult<Registrations | null>> {
  const result = await service.listAll(beyondSpec.listRegistrations, ({ items }) => items);
  if (result.kind !== "ok") return isUnknownOperation(result) ? NOTHING_LISTED : result;
  return { ...result, value: new Map(result.value.records.map((record) => [record.value.robot_id, record])) };
}

function withRegistration(
  { value: view, document }: Answer<IdentifiedRobotView>,
  registrations: Registrations | null,
): Answer<ListedRobot> {
  if (registrations === null) return { value: { view, registration: undefined }, document };
  const registration = registrations.get(view.id);
  if (registration === undefined) return { value: { view, registration: null }, document };
  return {
    value: { view, registration: registration.value },
    document: Object.assign({}, document, { registration: registration.document }),
  };
}

/** Id, computer, deployments and fleets stay. */
function rename(service: Service, robot: IdentifiedRobotView, newName: string): Promise<ExitCode> {
  const { terminal } = service;
  return makeChange(service, {
    row: beyondSpec.renameRobot,
    input: { parameters: { robot: robot.id }, body: { name: newName } },
    explain() {
      if (newName === robot.name) return null;
      terminal.note(`This renames ${robot.name}.`);
      for (const sentence of renamingOf(robot)) terminal.note(sentence);
      return "Rename it?";
    },
    places: flagPlaces({}, { name: "NAME" }),
    show({ name: now, id }) {
      const text = now === robot.name ? `${now} has this name already` : `${robot.name} is ${now} now`;
      terminal.print(`${text} (${id}).`);
    },
  });
}

/** Its computer loses its credential, its deployment retires, and its name is free. */
function remove(service: Service, robot: IdentifiedRobotView): Promise<ExitCode> {
  const { terminal } = service;
  return makeChange(service, {
    row: beyondSpec.removeRobot,
    input: { parameters: { robot: robot.id } },
    async explain() {
      const state = isEnrolled(robot) ? stateInFull({ view: robot, registration: null }) : null;
      const words = state === null ? "" : ` (${shownText(state, service.now())})`;
      terminal.note(`This removes ${robot.name}${words} for good.`);
      const deployment = (await currentDeployment(service, robot))?.value;
      for (const sentence of removalOf(robot, deployment)) terminal.note(sentence);
      return "Remove it?";
    },
    show: () => terminal.print(`${robot.name} is removed (${robot.id}), and its name is free.`),
  });
}

/** The installation of a robot, and the service's answer. */
interface FoundInstallation {
  readonly robot: RobotView;
  readonly installation: Answer<InstallationView>;
}

/** Finds the installation of a robot by the robot's name or id. @returns an exit code after reporting that there is none. */
async function findInstallation(service: Service, name: string): Promise<FoundInstallation | ExitCode> {
  const found = await find(service, ROBOT, name);
  if (typeof found === "number") return found;
  const { value: robot } = found;
  const result = await service.call(beyondSpec.getInstallation, { parameters: { robot: robot.id } });
  if (result.kind === "ok") return { robot, installation: result.value };
  if (!isNothingNamed(result)) return service.failed(result);
  const what = `no computer was ever enrolled as ${robot.name}`;
  const fix = `run this on the robot, and approve its code: ${ENROLL_COMMAND}`;
  return refuse({ code: "never-enrolled", what, fix }, EXIT.rejected, service.terminal);
}

/** Lets a frozen robot work again, after a false alarm. */
async function thaw(service: Service, found: FoundInstallation): Promise<ExitCode> {
  const { terminal } = service;
  const { robot, installation } = found;
  const { state, last_seen_at: seenAt, last_address: address } = installation.value;
  const show = () => terminal.print(`${robot.name} is not frozen; its computer works with its credential.`);
  if (state === "active" && service.flags.dryRun !== true) return service.answer(installation.document, show);
  const explain = () => {
    const seen = seenAt === null ? "" : `, seen ${timeAgo(seenAt, service.now())}`;
    const from = `${seen} from ${address ?? "an unknown address"}`;
    terminal.note(`${robot.name} is frozen, because two computers used its identity${from}.`);
    for (const sentence of THAWING) terminal.note(sentence);
    return "Thaw it?";
  };
  return changeInstallation(service, found, { frozen: false }, { explain, show });
}

/** Lets a robot that was away for long renew its expired credential. */
function allowRecovery(service: Service, found: FoundInstallation, times: number): Promise<ExitCode> {
  const { name } = found.robot;
  const often = times === 1 ? "once" : `${times} times`;
  const text =
    times === 0
      ? `${name} may not renew an expired credential any more.`
      : `${name} may renew an expired credential ${often}; its computer tries by itself, within minutes.`;
  const show = () => service.terminal.print(text);
  return changeInstallation(service, found, { recoveries_remaining: times }, { show });
}

async function changeInstallation(
  service: Service,
  { robot, installation }: FoundInstallation,
  body: InstallationChange,
  change: Pick<Change<unknown>, "explain" | "show">,
): Promise<ExitCode> {
  if (installation.value.state === "revoked") {
    const what = `the computer of ${robot.name} was replaced or removed`;
    const fix = `run this on its computer, and approve the code: ${ENROLL_COMMAND}`;
    return refuse({ code: "installation-revoked", what, fix }, EXIT.conflict, service.terminal);
  }
  const input = { parameters: { robot: robot.id }, body };
  return makeChange(service, { row: beyondSpec.changeInstallation, input, ...change });
}
