/** The form of a new fleet as the bodies of requests. */
import { entered } from "../parts/form/fields.tsx";
import type { PreviewBody } from "./preview.tsx";

export const READINESS_MODES = [
  { value: "always_ready", word: "Always ready", hint: "Capacity is available at any time." },
  { value: "scheduled", word: "Scheduled", hint: "Capacity is available within operating windows." },
  { value: "on_demand", word: "On demand", hint: "Capacity is prepared when the first robot becomes active." },
] as const;

/** OPERATING_WINDOWS_COUNT of src/api/fleets.ts, whose schemas are not bundled into the page. */
export const WINDOWS_MAXIMUM = 366;

/** Name of a field of a window, which is a path in the body. */
export function windowField(index: number, member: "starts_at" | "ends_at"): string {
  return `operating_windows.${index}.${member}`;
}

/** The body of `POST /v1/fleets`. Apart from `labelsProblem` the service validates it, with the same messages for all clients. */
export function bodyOf(data: FormData) {
  const [peak, readinessMode] = [entered(data, "peak_active_robots"), entered(data, "readiness_mode")];
  return {
    name: entered(data, "name"),
    subject: entered(data, "subject"),
    selection: selectionOf(data),
    // Left out, an empty field is reported as missing, not as an invalid number.
    ...(peak === "" ? {} : { peak_active_robots: Number(peak) }),
    readiness_mode: readinessMode,
    ...(readinessMode === "scheduled" ? { operating_windows: windowsOf(data) } : {}),
  };
}

/** The body of `POST /v1/fleets/preview`; null while nothing is chosen. */
export function previewOf(data: FormData): PreviewBody | null {
  const selection = selectionOf(data);
  const isEmpty = "robots" in selection ? selection.robots.length === 0 : Object.keys(selection.selector).length === 0;
  if (isEmpty) return null;
  const subject = entered(data, "subject");
  return { ...selection, ...(subject === "" ? {} : { subject }) };
}

/** Members of a selector that hold one value. */
const SELECTED_BY = ["site", "region", "robot_type_id"] as const;

function selectionOf(data: FormData) {
  if (entered(data, "selection") === "robots") {
    return { robots: partsOf(entered(data, "selection.robots"), /[\n,]/) };
  }
  const filters = SELECTED_BY.map((member) => [member, entered(data, `selection.selector.${member}`)] as const);
  const labels = Object.fromEntries(labelsOf(data));
  const selector: Readonly<Record<string, unknown>> = {
    ...Object.fromEntries(filters.filter(([, value]) => value !== "")),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
  };
  return { selector };
}

/** What is wrong with the labels; undefined if nothing. The service cannot tell: the body has each name once. */
export function labelsProblem(data: FormData): string | undefined {
  const names = entered(data, "selection") === "robots" ? [] : labelsOf(data).map(([name]) => name);
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  return repeated === undefined ? undefined : `${repeated} is given twice; a label has one value`;
}

/** One `name=value` on each line. */
function labelsOf(data: FormData): readonly (readonly [string, string])[] {
  return partsOf(entered(data, "selection.selector.labels"), "\n").map(pairOf);
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

function windowsOf(data: FormData) {
  const windows = [];
  for (let index = 0; data.has(windowField(index, "starts_at")); index += 1) {
    const [startsAt, endsAt] = [
      entered(data, windowField(index, "starts_at")),
      entered(data, windowField(index, "ends_at")),
    ];
    windows.push({ starts_at: instant(startsAt), ends_at: instant(endsAt) });
  }
  return windows;
}

/** A local time in the person's time zone. An invalid one stays: the service refuses it, and the error appears at its field. */
function instant(local: string): string {
  const ms = new Date(local).getTime();
  return Number.isNaN(ms) ? local : new Date(ms).toISOString();
}
