import { operations } from "../../api/api.ts";
import { beyondSpec } from "../../api/beyond-spec.ts";
import type { RegistrationSummary } from "../../api/registrations.ts";
import type { RobotView } from "../../api/robot-views.ts";
import type { CallResult } from "../../client/client.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { isUnknownOperation } from "../failure.ts";
import type { Listed, ListedRecord } from "../listed.ts";
import type { OperatorContext } from "../operator.ts";
import { withService } from "../operator.ts";
import { labelsInWords, shortDigest } from "../robot-words.ts";
import { readLabels } from "../selection-flags.ts";
import type { Service } from "../service.ts";
import type { ListFlags, ListView } from "../show-list.ts";
import { showList } from "../show-list.ts";
import { relativeTime } from "../../platform/relative-time.ts";

const ROBOT_ORDERS = ["name", "type", "region", "site", "added", "changed"] as const;

export interface RobotsListFlags extends ListFlags {
  readonly site?: string;
  readonly type?: string;
  readonly region?: string;
  readonly label?: readonly string[];
  readonly digest?: boolean;
  readonly sort?: string;
}

/** A robot with what it registered with last, where that was asked for. */
interface ListedRobot {
  readonly view: RobotView;
  readonly registration: RegistrationSummary | null;
}

/** `robots list`: every registered robot, or those that match, oldest first where nothing else is said. */
export async function robotsList(flags: RobotsListFlags, context: OperatorContext): Promise<ExitCode> {
  const { terminal } = context;
  const labels = readLabels(flags.label ?? [], terminal);
  if (labels === null) return EXIT.usage;
  const order = ROBOT_ORDERS.find((each) => each === flags.sort) ?? null;
  const needs_registrations = flags.digest === true || order === "changed";
  return withService(flags, context, async (service) => {
    let has_registrations = needs_registrations;
    const load = async (): Promise<CallResult<Listed<ListedRobot>>> => {
      const result = await service.listAll(operations.listRobots, (robots) => robots);
      if (result.kind !== "ok") return result;
      const registrations = needs_registrations ? await loadRegistrations(service) : NONE;
      if (registrations.kind !== "ok") return registrations;
      if (registrations.value === null && has_registrations) {
        terminal.note("This service does not tell digests and when they changed.");
        has_registrations = false;
      }
      const records = result.value.records
        .filter(({ item }) => isWanted(item, flags, labels))
        .map((record) => withRegistration(record, registrations.value));
      return { ...result, value: { ...result.value, records: order === null ? records : sortBy(order, records) } };
    };
    // What the service lacks is known before the columns are chosen.
    const first = await load();
    const view = robotsView(flags, flags.digest === true && has_registrations);
    return showList(service, load, view, flags, context, first);
  });
}

type Registrations = ReadonlyMap<string, ListedRecord<RegistrationSummary>>;

const NONE: CallResult<Registrations> = { kind: "ok", status: 200, value: new Map() };

/** By the ids of the robots; null where the service has no such list. */
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
  { site, region, robot_type_id, labels }: RobotView,
  flags: RobotsListFlags,
  wanted: Readonly<Record<string, string>>,
): boolean {
  const { site: wanted_site = site, region: wanted_region = region, type = robot_type_id } = flags;
  return (
    site === wanted_site &&
    region === wanted_region &&
    robot_type_id === type &&
    Object.entries(wanted).every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value)
  );
}

/** Those that changed last come first, everything else from A on. */
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

function robotsView({ label, site, type, region }: RobotsListFlags, has_digests: boolean): ListView<ListedRobot> {
  const is_filtered = [label, site, type, region].some((flag) => flag !== undefined);
  const common = {
    id: ({ view }: ListedRobot) => view.id,
    empty: is_filtered ? "No robot matches." : "No robots are registered yet.",
  };
  if (has_digests) {
    return {
      ...common,
      headers: ["name", "site", "digest", "changed", "registered", "id"],
      prose: ["name", "site"],
      spare: ["id", "registered"],
      row: ({ view, registration }, now_ms) => [
        view.name,
        view.site ?? "",
        shortDigest(registration?.configuration_digest),
        `${relativeTime(registration?.changed_at, now_ms)}${(registration?.contested_since ?? null) === null ? "" : ", contested"}`,
        relativeTime(registration?.registered_at, now_ms),
        view.id,
      ],
    };
  }
  return {
    ...common,
    headers: ["name", "type", "region", "site", "added", "labels", "id"],
    prose: ["name", "site", "labels"],
    spare: ["region", "added", "id"],
    row: (robot, now_ms) => [
      robot.view.name,
      robot.view.robot_type_id,
      robot.view.region,
      robot.view.site ?? "",
      relativeTime(robot.view.created_at, now_ms),
      labelsInWords(robot.view),
      robot.view.id,
    ],
  };
}
