import { type FleetCreate, SELECTION_ROBOTS_COUNT } from "../../api/fleets.ts";
import type { Json } from "../kernel/json/json.ts";
import { type Finding, type Location, ruleBroken } from "../kernel/validation/finding.ts";

/**
 * Findings on a fleet that matches the schema, in the order of its members. `membershipFindings` has those that need the
 * store.
 */
export function fleetFindings(
  { selection, readiness_mode: readinessMode, operating_windows: operatingWindows }: FleetCreate,
  nowMs: number,
): Finding[] {
  return [...selectionFindings(selection, SELECTION), ...windowFindings(readinessMode, operatingWindows, nowMs)];
}

/** Selects the robots of a fleet or of a preview. */
type Selection = FleetCreate["selection"];

/**
 * Findings on a selection that do not need the store.
 *
 * @param at location of the selection in the request.
 */
export function selectionFindings({ robots, selector }: Selection, at: Location): Finding[] {
  if (robots !== null && robots !== undefined) {
    return robots.flatMap((robot, index) =>
      robots.indexOf(robot) === index ? [] : [finding([...at, "robots", index], robot, "names a robot twice")],
    );
  }
  const { site, region, robot_type_id: robotTypeId, labels = {} } = selector ?? {};
  const isFiltering = [site, region, robotTypeId].some((filter) => (filter ?? null) !== null);
  if (isFiltering || Object.keys(labels).length > 0) return [];
  const message = "at least one of site, region, robot_type_id and labels is required";
  return [finding([...at, "selector"], selectorJson(selector), message)];
}

function windowFindings(
  mode: FleetCreate["readiness_mode"],
  windows: FleetCreate["operating_windows"],
  nowMs: number,
): Finding[] {
  if (mode !== "scheduled") {
    return windows.length === 0
      ? []
      : [finding(WINDOWS, windows.map(windowJson), "only a fleet with readiness_mode scheduled has operating windows")];
  }
  if (windows.length === 0) return [finding(WINDOWS, [], "a scheduled fleet needs at least one operating window")];
  const empty = windows.flatMap(({ starts_at, ends_at }, index) =>
    Date.parse(ends_at) > Date.parse(starts_at)
      ? []
      : [finding([...WINDOWS, index, "ends_at"], ends_at, "an operating window ends after it starts")],
  );
  if (empty.length > 0) return empty;
  const overlapping = overlaps(windows);
  if (overlapping.length > 0) return overlapping;
  const isOver = windows.every(({ ends_at }) => Date.parse(ends_at) <= nowMs);
  return isOver ? [finding(WINDOWS, windows.map(windowJson), "all operating windows are past")] : [];
}

/** One finding for each window that starts before an earlier one has ended. A window may start when another ends. */
function overlaps(windows: FleetCreate["operating_windows"]): Finding[] {
  const sorted = windows
    .map((window, index) => {
      const { starts_at, ends_at } = window;
      return { window, index, startsMs: Date.parse(starts_at), endsMs: Date.parse(ends_at) };
    })
    .toSorted((left, right) => left.startsMs - right.startsMs);
  let latest = { index: -1, endsMs: Number.NEGATIVE_INFINITY };
  const findings: Finding[] = [];
  for (const { window, index, startsMs, endsMs } of sorted) {
    if (startsMs < latest.endsMs) {
      findings.push(finding([...WINDOWS, index], windowJson(window), `overlaps operating window ${latest.index}`));
    }
    if (endsMs > latest.endsMs) latest = { index, endsMs };
  }
  return findings;
}

/**
 * Findings on the members of a fleet.
 *
 * @param robotIds ids of the named robots in the order of the request, null for unknown names; for a selector, ids of the robots
 * it matched.
 */
export function membershipFindings(
  { selection, peak_active_robots: peakActiveRobots }: FleetCreate,
  robotIds: readonly (string | null)[],
): Finding[] {
  const findings = matchFindings(selection, robotIds, SELECTION);
  if (findings.length > 0) return findings;
  if (peakActiveRobots <= robotIds.length) return [];
  const message = `cannot be more than the robots of the fleet, which are ${robotIds.length}`;
  return [finding(PEAK, peakActiveRobots, message)];
}

/** Findings on the robots of a selection; `robotIds` as above. */
export function matchFindings(
  { robots, selector }: Selection,
  robotIds: readonly (string | null)[],
  at: Location,
): Finding[] {
  if (robots === null || robots === undefined) {
    return countFindings(selector, robotIds.length, [...at, "selector"]);
  }
  return robots.flatMap((robot, index) => {
    const id = robotIds[index] ?? null;
    const loc = [...at, "robots", index];
    if (id === null) return [finding(loc, robot, "no robot has this name or id")];
    return robotIds.indexOf(id) === index ? [] : [finding(loc, robot, "names a robot twice")];
  });
}

function countFindings(selector: Selection["selector"], count: number, loc: Location): Finding[] {
  if (count > 0 && count <= SELECTION_ROBOTS_COUNT.maximum) return [];
  const message = count === 0 ? "no robot matches" : `more than ${SELECTION_ROBOTS_COUNT.maximum} robots match`;
  return [finding(loc, selectorJson(selector), message)];
}

/** For a subject that is not in the catalog. */
export function unknownSubject(subject: string): Finding {
  return finding(SUBJECT, subject, "no model or checkpoint has this name");
}

const SUBJECT: Location = ["body", "subject"];
const SELECTION: Location = ["body", "selection"];
const PEAK: Location = ["body", "peak_active_robots"];
const WINDOWS: Location = ["body", "operating_windows"];

function finding(loc: Location, input: Json, message: string): Finding {
  return { ...ruleBroken(message), loc, input };
}

function selectorJson(selector: Selection["selector"]): Json {
  const { labels, ...filters } = selector ?? {};
  const members: (readonly [string, Json])[] = Object.entries(filters).map(([name, value]) => [name, value ?? null]);
  return new Map(labels === undefined ? members : [...members, ["labels", new Map(Object.entries(labels))]]);
}

function windowJson(window: FleetCreate["operating_windows"][number]): Json {
  return new Map(Object.entries(window));
}
