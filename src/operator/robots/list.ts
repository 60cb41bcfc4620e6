import { beyondSpec, operations } from "../../api/api.ts";
import type { RegistrationSummary } from "../../api/registrations.ts";
import type { RobotView } from "../../api/robot-views.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { relativeTime } from "../../platform/text/relative-time.ts";
import type { OperatorContext } from "../context.ts";
import { isUnknownOperation } from "../failure.ts";
import { readLabels } from "../fleets/selection-flags.ts";
import type { ListView } from "../lists/columns.ts";
import { namedColumns } from "../lists/columns.ts";
import type { ListFlags } from "../lists/flags.ts";
import type { Listed, ListedRecord } from "../lists/listed.ts";
import { showList } from "../lists/show-list.ts";
import { withService } from "../operator.ts";
import type { Service } from "../service.ts";
import { labelsInWords, shortDigest } from "./words.ts";

const ROBOT_ORDERS = ["name", "type", "region", "site", "added", "changed"] as const;

export interface RobotsListFlags extends ListFlags {
  readonly site?: string;
  readonly type?: string;
  readonly region?: string;
  readonly label?: readonly string[];
  readonly digest?: boolean;
  readonly sort?: string;
}

/** A robot, with its latest registration if that was requested. */
interface ListedRobot {
  readonly view: RobotView;
  readonly registration: RegistrationSummary | null;
}

/** `robots list`: all registered robots, or those that match; oldest first by default. */
export async function robotsList(flags: RobotsListFlags, context: OperatorContext): Promise<ExitCode> {
  const { terminal } = context;
  const labels = readLabels(flags.label ?? [], terminal);
  if (labels === null) return EXIT.usage;
  const order = ROBOT_ORDERS.find((each) => each === flags.sort) ?? null;
  const named = namedColumns(flags);
  const needsRegistrations =
    flags.digest === true || order === "changed" || REGISTRATION_COLUMNS.some((column) => named.includes(column));
  return withService(flags, context, async (service) => {
    let hasRegistrations = needsRegistrations;
    const load = async (): Promise<CallResult<Listed<ListedRobot>>> => {
      const result = await service.listAll(operations.listRobots, (robots) => robots);
      if (result.kind !== "ok") return result;
      const registrations = needsRegistrations ? await loadRegistrations(service) : NONE;
      if (registrations.kind !== "ok") return registrations;
      if (registrations.value === null && hasRegistrations) {
        terminal.note("This service does not show digests and when they changed.");
        hasRegistrations = false;
      }
      const records = result.value.records
        .filter(({ item }) => isWanted(item, flags, labels))
        .map((record) => withRegistration(record, registrations.value));
      return { ...result, value: { ...result.value, records: order === null ? records : sortBy(order, records) } };
    };
    // Load first: the columns depend on what the service offers.
    const first = await load();
    const view = robotsView(flags, flags.digest === true && hasRegistrations);
    return showList(service, load, view, flags, context, first);
  });
}

type Registrations = ReadonlyMap<string, ListedRecord<RegistrationSummary>>;

const NONE: CallResult<Registrations> = { kind: "ok", status: 200, value: new Map() };

/** Registrations by robot id; null where the service has no such list. */
async function loadRegistrations(service: Service): Promise<CallResult<Registrations | null>> {
  const result = await service.listAll(beyondSpec.listRegistrations, ({ items }) => items);
  if (result.kind !== "ok") return isUnknownOperation(result) ? { kind: "ok", status: 200, value: null } : result;
  return { ...result, value: new Map(result.value.records.map((record) => [record.item.robot_id, record])) };
}

function withRegistration(
  { item: view, document }: ListedRecord<RobotView>,
  registrations: Registrations | null,
): ListedRecord<ListedRobot> {
  const registration = registrations?.get(view.id);
  if (registration === undefined) return { item: { view, registration: null }, document };
  return {
    item: { view, registration: registration.item },
    document: Object.assign({}, document, { registration: registration.document }),
  };
}

function isWanted(
  { site, region, robot_type_id: robotTypeId, labels }: RobotView,
  flags: RobotsListFlags,
  wanted: Readonly<Record<string, string>>,
): boolean {
  const { site: wantedSite = site, region: wantedRegion = region, type = robotTypeId } = flags;
  return (
    site === wantedSite &&
    region === wantedRegion &&
    robotTypeId === type &&
    Object.entries(wanted).every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value)
  );
}

/** By change: the latest first. Otherwise alphabetical. */
function sortBy(
  order: (typeof ROBOT_ORDERS)[number],
  records: readonly ListedRecord<ListedRobot>[],
): readonly ListedRecord<ListedRobot>[] {
  const keyOf = ({ item: { view, registration } }: ListedRecord<ListedRobot>): string => {
    switch (order) {
      case "name":
        return view.name;
      case "type":
        return view.robot_type_id;
      case "region":
        return view.region;
      case "site":
        return view.site ?? "";
      case "added":
        return view.created_at;
      case "changed":
        return registration?.changed_at ?? "";
    }
  };
  // `arm-9` before `arm-10`.
  const { compare } = new Intl.Collator("en", { numeric: true });
  const sorted = records.toSorted((left, right) => compare(keyOf(left), keyOf(right)));
  return order === "changed" ? sorted.toReversed() : sorted;
}

/** Cells by their headers. */
const CELLS = {
  name: ({ view }) => view.name,
  type: ({ view }) => view.robot_type_id,
  region: ({ view }) => view.region,
  site: ({ view }) => view.site ?? "",
  added: ({ view }, nowMs) => relativeTime(view.created_at, nowMs),
  labels: ({ view }) => labelsInWords(view),
  digest: ({ registration }) => shortDigest(registration?.configuration_digest),
  changed: ({ registration }, nowMs) =>
    `${relativeTime(registration?.changed_at, nowMs)}${(registration?.contested_since ?? null) === null ? "" : ", contested"}`,
  registered: ({ registration }, nowMs) => relativeTime(registration?.registered_at, nowMs),
  id: ({ view }) => view.id,
} as const satisfies Record<string, (robot: ListedRobot, nowMs: number) => string>;

type Column = keyof typeof CELLS;

/** Columns that need the list of registrations. */
const REGISTRATION_COLUMNS: readonly Column[] = ["digest", "changed", "registered"];
const EVERY_COLUMN: readonly Column[] = [
  "name",
  "type",
  "region",
  "site",
  "added",
  "labels",
  ...REGISTRATION_COLUMNS,
  "id",
];
const USUAL_COLUMNS: readonly Column[] = ["name", "type", "region", "site", "added", "labels", "id"];
const DIGEST_COLUMNS: readonly Column[] = ["name", "site", ...REGISTRATION_COLUMNS, "id"];

function robotsView(flags: RobotsListFlags, hasDigests: boolean): ListView<ListedRobot> {
  const { label, site, type, region, columns } = flags;
  const isFiltered = [label, site, type, region].some((flag) => flag !== undefined);
  const usual = hasDigests ? DIGEST_COLUMNS : USUAL_COLUMNS;
  const headers = columns === undefined ? usual : EVERY_COLUMN;
  return {
    headers,
    prose: ["name", "site", "labels"],
    spare: hasDigests ? ["id", "registered"] : ["region", "added", "id"],
    row: (robot, nowMs) => headers.map((header) => CELLS[header](robot, nowMs)),
    id: ({ view }) => view.id,
    empty: isFiltered ? "No robot matches." : "No robots are registered yet.",
  };
}
