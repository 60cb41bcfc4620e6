import { beyondSpec, operations } from "../../api/api.ts";
import type { RegistrationSummary } from "../../api/registrations.ts";
import { eachOf, ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import type { IdentifiedRobotView } from "../../api/robot-views.ts";
import { presenceOf } from "../../api/words/presence.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { flagPlaces } from "../body.ts";
import { makeChange } from "../change.ts";
import { command, type OperatorRow } from "../command.ts";
import { deploymentText, isCurrent } from "../../views/deployments.ts";
import { listCurrentDeployments } from "../deployments/deployments.ts";
import { isUnknownOperation, refuseNotOffered } from "../failure.ts";
import { CHANGE, choice, type Given, LIST, onOff, SELECTOR } from "../flags.ts";
import { itemsIn } from "../lists/listed.ts";
import { compareNames, type ListView, namedColumns, showList } from "../lists/show-list.ts";
import { type Answer, NOTHING_LISTED, type Service } from "../service.ts";
import { type Now, timeAgo } from "../times.ts";
import { listRobots, withRobot } from "./find.ts";
import { warnOfRobots } from "./registration-checks.ts";
import { SETUP, setUpRobot } from "./setup.ts";
import { SHOW, showRobot } from "./show.ts";
import { isEnrolled, labelsText, presenceWord, shortDigest, statusText } from "./words.ts";

const LISTED = {
  ...SELECTOR,
  online: onOff("only robots that are online", { excludes: ["--offline"] }),
  offline: onOff("only enrolled robots that are offline"),
  digest: onOff("show the configuration digest, and when it changed"),
  sort: choice("<column>", "sort by this column; added: first registration; changed: latest change first", [
    "name",
    "type",
    "region",
    ...ROBOT_TEXT_NAMES,
    "added",
    "changed",
  ]),
  ...LIST,
};

/** Registered robots. Their enrolments and computers are in other files. */
export const robotCommands: readonly OperatorRow[] = [
  command({
    name: "robots list",
    aliases: ["ls"],
    summary: "list the registered robots, oldest first",
    flags: LISTED,
    examples: [
      "robot-policy robots list --site plant-1 --label cell=packing",
      "robot-policy robots list --offline",
      "robot-policy robots list --digest --sort changed",
    ],
    run: list,
  }),
  command({
    name: "robots show",
    summary: "show a robot, by name or id",
    argument: "ROBOT",
    flags: SHOW,
    examples: ["robot-policy robots show arm-7 --history", "robot-policy robots show arm-7 --contract"],
    run: (service, flags, name) =>
      withRobot(service, name, (robot, document) => showRobot(service, flags, robot, document)),
  }),
  command({
    name: "robots setup",
    summary: "register a robot that runs no agent; a registered robot keeps what is not given again",
    flags: SETUP,
    examples: [
      "robot-policy robots setup --name arm-7 --type lerobot.so101-follower.v1 --region us-west-2 --file calibration.json",
      "robot-policy robots setup --from arm-7.yaml --dry-run",
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
    run: (service, _flags, name, newName) => withRobot(service, name, (robot) => rename(service, robot, newName)),
  }),
  command({
    name: "robots remove",
    aliases: ["rm"],
    summary: "remove a robot: its computer loses its credential, and its name is free",
    argument: "ROBOT",
    flags: CHANGE,
    examples: ["robot-policy robots remove arm-7", "robot-policy robots remove arm-7 --dry-run"],
    run: (service, _flags, name) => withRobot(service, name, (robot) => remove(service, robot)),
  }),
];

/** A robot, with its latest registration if that was requested. */
interface ListedRobot {
  readonly view: IdentifiedRobotView;
  readonly registration: RegistrationSummary | null;
}

/** All registered robots, or those that match; oldest first by default. */
async function list(service: Service, flags: Given<typeof LISTED>): Promise<ExitCode> {
  const { terminal } = service;
  const result = await listRobots(service);
  if (result.kind !== "ok") return showList(service, result, robotsView(flags, false));
  const robots = itemsIn(result.value);
  if ((flags.online === true || flags.offline === true) && robots.some(({ status }) => status === null)) {
    return refuseNotOffered("say which robots are online", terminal);
  }
  const named = namedColumns(flags);
  const needsRegistrations =
    flags.digest === true || flags.sort === "changed" || REGISTRATION_COLUMNS.some((column) => named.includes(column));
  const registrations = needsRegistrations ? await loadRegistrations(service) : NOTHING_LISTED;
  if (registrations.kind !== "ok") return service.failed(registrations);
  const hasRegistrations = registrations.value !== null;
  if (needsRegistrations && !hasRegistrations) {
    terminal.note("This service does not show digests and when they changed.");
  }
  const records = result.value.records
    .filter(({ value }) => isWanted(value, flags))
    .map((record) => withRegistration(record, registrations.value));
  const sorted = flags.sort === undefined ? records : sortBy(flags.sort, records);
  const view = robotsView(flags, flags.digest === true && hasRegistrations);
  const exitCode = showList(service, { ...result, value: { ...result.value, records: sorted } }, view);
  if (service.flags.json !== true && flags.columns === undefined) {
    await warnOfRobots(
      service,
      sorted.map(({ value }) => value.view),
    );
  }
  return exitCode;
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
  const registration = registrations?.get(view.id);
  if (registration === undefined) return { value: { view, registration: null }, document };
  return {
    value: { view, registration: registration.value },
    document: Object.assign({}, document, { registration: registration.document }),
  };
}

function isWanted(robot: IdentifiedRobotView, flags: Given<typeof LISTED>): boolean {
  const { site, region, robot_type_id: robotTypeId, labels } = robot;
  const { site: wantedSite = site, region: wantedRegion = region, type = robotTypeId } = flags;
  return (
    site === wantedSite &&
    region === wantedRegion &&
    robotTypeId === type &&
    (flags.online !== true || robot.status === "online") &&
    (flags.offline !== true || presenceOf(robot) === "offline") &&
    Object.entries(flags.label ?? {}).every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value)
  );
}

const TEXT_CELLS = eachOf(
  ROBOT_TEXT_NAMES,
  (text) =>
    ({ view }: ListedRobot) =>
      view[text] ?? "",
);

type Order = NonNullable<Given<typeof LISTED>["sort"]>;

/** What `--sort` compares. */
const SORT_KEYS: Readonly<Record<Order, (robot: ListedRobot) => string>> = {
  name: ({ view }) => view.name,
  type: ({ view }) => view.robot_type_id,
  region: ({ view }) => view.region,
  ...TEXT_CELLS,
  added: ({ view }) => view.created_at,
  changed: ({ registration }) => registration?.changed_at ?? "",
};

/** By change: the latest first. Otherwise alphabetical. */
function sortBy(order: Order, records: readonly Answer<ListedRobot>[]): readonly Answer<ListedRobot>[] {
  const keyOf = SORT_KEYS[order];
  const sorted = records.toSorted((left, right) => compareNames(keyOf(left.value), keyOf(right.value)));
  return order === "changed" ? sorted.toReversed() : sorted;
}

/** Cells by their headers. */
const CELLS = {
  name: ({ view }) => view.name,
  status: ({ view }, now) => statusCell(view, now),
  type: ({ view }) => view.robot_type_id,
  region: ({ view }) => view.region,
  ...TEXT_CELLS,
  added: ({ view }, now) => timeAgo(view.created_at, now),
  labels: ({ view }) => labelsText(view),
  digest: ({ registration }) => shortDigest(registration?.configuration_digest),
  changed: ({ registration }, now) =>
    `${timeAgo(registration?.changed_at, now)}${(registration?.contested_since ?? null) === null ? "" : ", contested"}`,
  registered: ({ registration }, now) => timeAgo(registration?.registered_at, now),
  id: ({ view }) => view.id,
} as const satisfies Record<string, (robot: ListedRobot, now: Now) => string>;

function statusCell(view: IdentifiedRobotView, now: Now): string {
  if (presenceOf(view) !== "offline") return presenceWord(view);
  return view.last_seen_at === null ? "offline" : `offline, ${timeAgo(view.last_seen_at, now)}`;
}

type Column = keyof typeof CELLS;

/** Columns that need the list of registrations. */
const REGISTRATION_COLUMNS: readonly Column[] = ["digest", "changed", "registered"];
const EVERY_COLUMN: readonly Column[] = [
  "name",
  "status",
  "type",
  "region",
  ...ROBOT_TEXT_NAMES,
  "added",
  "labels",
  ...REGISTRATION_COLUMNS,
  "id",
];
const USUAL_COLUMNS: readonly Column[] = ["name", "status", "type", "region", "site", "added", "labels", "id"];
const DIGEST_COLUMNS: readonly Column[] = ["name", "status", "site", ...REGISTRATION_COLUMNS, "id"];

function robotsView(flags: Given<typeof LISTED>, hasDigests: boolean): ListView<ListedRobot> {
  const { label, site, type, region, online, offline, columns } = flags;
  const isFiltered = [label, site, type, region, online, offline].some((flag) => flag !== undefined);
  const usual = hasDigests ? DIGEST_COLUMNS : USUAL_COLUMNS;
  const headers = columns === undefined ? usual : EVERY_COLUMN;
  return {
    headers,
    prose: ["name", "site", "labels"],
    spare: hasDigests ? ["id", "registered"] : ["region", "added", "id"],
    row: (robot, now) => headers.map((header) => CELLS[header](robot, now)),
    empty: isFiltered ? "No robot matches." : "No robots are registered yet.",
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
      terminal.note(`This renames ${robot.name}; its id, computer, deployments and fleets stay.`);
      terminal.note(
        isEnrolled(robot)
          ? "Its agent learns the new name by itself."
          : "Its agent registers under the old name until its configuration has the new one.",
      );
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
  return makeChange(service, {
    row: beyondSpec.removeRobot,
    input: { parameters: { robot: robot.id } },
    explain: () => explainRemoval(robot, service),
    show: () => service.terminal.print(`${robot.name} is removed (${robot.id}), and its name is free.`),
  });
}

async function explainRemoval(robot: IdentifiedRobotView, service: Service): Promise<string> {
  const { terminal } = service;
  const now = service.now();
  const status = isEnrolled(robot) ? ` (${statusText(robot, now)})` : "";
  terminal.note(`This removes ${robot.name}${status} for good; its history and usage stay.`);
  if (isEnrolled(robot)) terminal.note("Its computer loses its credential.");
  const deployments = await listCurrentDeployments(service);
  const current =
    deployments.kind === "ok"
      ? itemsIn(deployments.value).find((each) => each.robot_id === robot.id && isCurrent(each))
      : undefined;
  if (current !== undefined) terminal.note(`It retires ${deploymentText(current, now.ms)}.`);
  const { names, isComplete } = await fleetsOf(robot, service);
  if (names.length > 0)
    terminal.note(
      `It stays a member of ${names.join(", ")}, as a blocked member, until robot-policy fleets reconcile.`,
    );
  if (!isComplete) terminal.note("Not all fleets could be looked through.");
  return "Remove it?";
}

/** Fleets whose members are looked through before the question. */
const FLEETS_MAXIMUM = 50;

async function fleetsOf({ id }: IdentifiedRobotView, service: Service) {
  const fleets = await service.listAll(operations.listFleets, (list) => list);
  if (fleets.kind !== "ok") return { names: [], isComplete: false };
  const items = itemsIn(fleets.value);
  const names: string[] = [];
  let isComplete = items.length <= FLEETS_MAXIMUM;
  for (const fleet of items.slice(0, FLEETS_MAXIMUM)) {
    const details = await service.call(beyondSpec.getFleetDetails, { parameters: { fleet_id: fleet.id } });
    if (details.kind !== "ok") {
      isComplete = false;
      continue;
    }
    if (details.value.value.members.some(({ robot_id: robotId }) => robotId === id)) names.push(fleet.name);
  }
  return { names, isComplete };
}
