import { beyondSpec, operations } from "../../api/api.ts";
import type { RegistrationSummary } from "../../api/registrations.ts";
import { eachOf, ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import type { IdentifiedRobotView } from "../../api/robot-views.ts";
import { presenceOf } from "../../api/words/presence.ts";
import type { CallResult } from "../../client/call-result.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { OperatorCommand } from "../context.ts";
import { isUnknownOperation } from "../failure.ts";
import type { OperatorFlags } from "../flags.ts";
import { readLabels } from "../fleets/selection-flags.ts";
import { NOTHING_LISTED } from "../if-offered.ts";
import { type ListView, namedColumns } from "../lists/columns.ts";
import { compareNames } from "../lists/compare-names.ts";
import { itemsIn, type LoadList } from "../lists/listed.ts";
import { showList } from "../lists/show-list.ts";
import { withService } from "../operator.ts";
import { refuseMissingOperation } from "../refuse.ts";
import type { Answer, Service } from "../service.ts";
import { type Now, timeAgo } from "../times.ts";
import { warnOfRobots } from "./registration-checks.ts";
import { labelsText, presenceWord, shortDigest } from "./words.ts";

/** A robot, with its latest registration if that was requested. */
interface ListedRobot {
  readonly view: IdentifiedRobotView;
  readonly registration: RegistrationSummary | null;
}

/** `robots list`: all registered robots, or those that match; oldest first by default. */
export const robotsList: OperatorCommand = async (flags, context) => {
  const { terminal } = context;
  const labels = readLabels(flags.label ?? [], terminal);
  if (labels === null) return EXIT.usage;
  const keyOf = Object.entries(SORT_KEYS).find(([order]) => order === flags.sort)?.[1];
  const named = namedColumns(flags);
  const needsRegistrations =
    flags.digest === true || flags.sort === "changed" || REGISTRATION_COLUMNS.some((column) => named.includes(column));
  return withService(flags, context, async (service) => {
    let hasRegistrations = needsRegistrations;
    let isStatusKnown = true;
    const load: LoadList<ListedRobot> = async () => {
      const result = await service.listAll(operations.listRobots, (robots) => robots);
      if (result.kind !== "ok") return result;
      isStatusKnown = itemsIn(result.value).every(({ status }) => status !== null);
      const registrations = needsRegistrations ? await loadRegistrations(service) : NOTHING_LISTED;
      if (registrations.kind !== "ok") return registrations;
      if (registrations.value === null && hasRegistrations) {
        terminal.note("This service does not show digests and when they changed.");
        hasRegistrations = false;
      }
      const records = result.value.records
        .filter(({ value }) => isWanted(value, flags, labels))
        .map((record) => withRegistration(record, registrations.value));
      return { ...result, value: { ...result.value, records: keyOf === undefined ? records : sortBy(keyOf, records) } };
    };
    // Load first: the columns depend on what the service offers.
    const first = await load();
    if (!isStatusKnown && (flags.online === true || flags.offline === true)) {
      const fix = "leave out --online and --offline";
      return refuseMissingOperation("does not say which robots are online", fix, terminal);
    }
    const view = robotsView(flags, flags.digest === true && hasRegistrations);
    const exitCode = await showList(service, load, view, {}, first);
    if (first.kind === "ok" && flags.json !== true && flags.watch !== true && flags.columns === undefined) {
      await warnOfRobots(
        service,
        itemsIn(first.value).map((robot) => robot.view),
      );
    }
    return exitCode;
  });
};

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

function isWanted(robot: IdentifiedRobotView, flags: OperatorFlags, wanted: Readonly<Record<string, string>>): boolean {
  const { site, region, robot_type_id: robotTypeId, labels } = robot;
  const { site: wantedSite = site, region: wantedRegion = region, type = robotTypeId } = flags;
  return (
    site === wantedSite &&
    region === wantedRegion &&
    robotTypeId === type &&
    (flags.online !== true || robot.status === "online") &&
    (flags.offline !== true || presenceOf(robot) === "offline") &&
    Object.entries(wanted).every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value)
  );
}

const TEXT_CELLS = eachOf(
  ROBOT_TEXT_NAMES,
  (text) =>
    ({ view }: ListedRobot) =>
      view[text] ?? "",
);

/** What `--sort` compares. */
const SORT_KEYS: Readonly<Record<string, (robot: ListedRobot) => string>> = {
  name: ({ view }) => view.name,
  type: ({ view }) => view.robot_type_id,
  region: ({ view }) => view.region,
  ...TEXT_CELLS,
  added: ({ view }) => view.created_at,
  changed: ({ registration }) => registration?.changed_at ?? "",
};

/** By change: the latest first. Otherwise alphabetical. */
function sortBy(
  keyOf: (robot: ListedRobot) => string,
  records: readonly Answer<ListedRobot>[],
): readonly Answer<ListedRobot>[] {
  const sorted = records.toSorted((left, right) => compareNames(keyOf(left.value), keyOf(right.value)));
  return keyOf === SORT_KEYS["changed"] ? sorted.toReversed() : sorted;
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

function robotsView(flags: OperatorFlags, hasDigests: boolean): ListView<ListedRobot> {
  const { label, site, type, region, online, offline, columns } = flags;
  const isFiltered = [label, site, type, region, online, offline].some((flag) => flag !== undefined);
  const usual = hasDigests ? DIGEST_COLUMNS : USUAL_COLUMNS;
  const headers = columns === undefined ? usual : EVERY_COLUMN;
  return {
    headers,
    prose: ["name", "site", "labels"],
    spare: hasDigests ? ["id", "registered"] : ["region", "added", "id"],
    row: (robot, now) => headers.map((header) => CELLS[header](robot, now)),
    id: ({ view }) => view.id,
    empty: isFiltered ? "No robot matches." : "No robots are registered yet.",
  };
}
