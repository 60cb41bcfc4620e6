import type { PreviewBody } from "./preview.tsx";

/** A window as its two fields hold it: local times without a time zone. */
export interface WindowDraft {
  readonly starts_at: string;
  readonly ends_at: string;
}

/** The fields of the form, as typed. */
export interface FleetDraft {
  readonly name: string;
  readonly subject: string;
  readonly selection: string;
  readonly site: string;
  readonly region: string;
  readonly robot_type_id: string;
  /** One `name=value` on each line. */
  readonly labels: string;
  /** Names or ids, one on each line or separated by commas. */
  readonly robots: string;
  readonly peak_active_robots: string;
  readonly readiness_mode: string;
  readonly windows: readonly WindowDraft[];
}

export const EMPTY_DRAFT: FleetDraft = {
  name: "",
  subject: "",
  selection: "selector",
  site: "",
  region: "",
  robot_type_id: "",
  labels: "",
  robots: "",
  peak_active_robots: "1",
  readiness_mode: "always_ready",
  windows: [],
};

export const READINESS_MODES = [
  { value: "always_ready", word: "Always ready", hint: "Capacity is available at any time." },
  { value: "scheduled", word: "Scheduled", hint: "Capacity is available within operating windows." },
  { value: "on_demand", word: "On demand", hint: "Capacity is prepared when the first robot becomes active." },
] as const;

/** OPERATING_WINDOWS_COUNT of src/api/fleets.ts, whose schemas are not bundled into the page. */
export const WINDOWS_MAXIMUM = 366;

/** Paths of the request body that have a field in the form. */
export const FLEET_FIELDS: readonly string[] = [
  "name",
  "subject",
  "selection",
  "selection.selector",
  "selection.selector.site",
  "selection.selector.region",
  "selection.selector.robot_type_id",
  "selection.selector.labels",
  "selection.robots",
  "peak_active_robots",
  "readiness_mode",
  "operating_windows",
  ...Array.from({ length: WINDOWS_MAXIMUM }, (_, index) => [
    `operating_windows.${index}`,
    `operating_windows.${index}.starts_at`,
    `operating_windows.${index}.ends_at`,
  ]).flat(),
];

/** The body of `POST /v1/fleets`. Apart from `labelsProblem` the service validates it, with the same messages for all clients. */
export function bodyOf(draft: FleetDraft) {
  const { name, subject, peak_active_robots: peakActiveRobots, readiness_mode: readinessMode, windows } = draft;
  return {
    name: name.trim(),
    subject,
    selection: selectionOf(draft),
    // Left out, an empty field is reported as missing, not as an invalid number.
    ...(peakActiveRobots.trim() === "" ? {} : { peak_active_robots: Number(peakActiveRobots) }),
    readiness_mode: readinessMode,
    ...(readinessMode === "scheduled" ? { operating_windows: windows.map(zoned) } : {}),
  };
}

/** The body of `POST /v1/fleets/preview`; null while nothing is chosen. */
export function previewOf(draft: FleetDraft): PreviewBody | null {
  const selection = selectionOf(draft);
  const isEmpty = "robots" in selection ? selection.robots.length === 0 : Object.keys(selection.selector).length === 0;
  if (isEmpty) return null;
  return { ...selection, ...(draft.subject === "" ? {} : { subject: draft.subject }) };
}

function selectionOf(draft: FleetDraft) {
  if (draft.selection === "robots") return { robots: partsOf(draft.robots, /[\n,]/) };
  const { site, region, robot_type_id: robotTypeId } = draft;
  const filters = Object.entries({ site, region, robot_type_id: robotTypeId }).filter(([, value]) => value !== "");
  const labels = Object.fromEntries(labelsOf(draft));
  const selector: Readonly<Record<string, unknown>> = {
    ...Object.fromEntries(filters),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
  };
  return { selector };
}

/** What is wrong with the labels; null if nothing. The service cannot tell: the body has each name once. */
export function labelsProblem(draft: FleetDraft): string | null {
  const names = draft.selection === "selector" ? labelsOf(draft).map(([name]) => name) : [];
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  return repeated === undefined ? null : `${repeated} is given twice; a label has one value`;
}

function labelsOf({ labels }: FleetDraft): readonly (readonly [string, string])[] {
  return partsOf(labels, "\n").map(pairOf);
}

function partsOf(text: string, separator: string | RegExp): readonly string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function pairOf(line: string): readonly [string, string] {
  const at = line.indexOf("=");
  return at === -1 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}

/** Adds the person's time zone. */
function zoned({ starts_at, ends_at }: WindowDraft): WindowDraft {
  return { starts_at: instant(starts_at), ends_at: instant(ends_at) };
}

/** Leaves an invalid time unchanged: the service refuses it, and the error appears at its field. */
function instant(local: string): string {
  const ms = new Date(local).getTime();
  return Number.isNaN(ms) ? local : new Date(ms).toISOString();
}
