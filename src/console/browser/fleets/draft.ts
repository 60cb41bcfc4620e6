/** The form of a new fleet as the bodies of requests. */
import { entered } from "../parts/form/fields.tsx";
import type { PreviewBody } from "./preview.tsx";

/** Members of a selector that hold one value. */
export const SELECTED_BY = [
  { member: "site", label: "Site" },
  { member: "region", label: "Region" },
  { member: "robot_type_id", label: "Type" },
] as const;

/** The body of `POST /v1/fleets`. The service validates it, with the same messages for all clients. */
export function bodyOf(data: FormData) {
  const readinessMode = entered(data, "readiness_mode");
  return {
    name: entered(data, "name"),
    subject: entered(data, "subject"),
    selection: selectionOf(data),
    peak_active_robots: Number(entered(data, "peak_active_robots")),
    readiness_mode: readinessMode,
    ...(readinessMode === "scheduled" ? { operating_windows: windowsOf(entered(data, "operating_windows")) } : {}),
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

function selectionOf(data: FormData) {
  if (entered(data, "selection") === "robots") return { robots: partsOf(entered(data, "selection.robots"), /[\n,]/) };
  const chosen = SELECTED_BY.map(({ member }) => [member, entered(data, `selection.selector.${member}`)] as const);
  const labels = partsOf(entered(data, "selection.selector.labels"), "\n").map(labelOf);
  const selector: Readonly<Record<string, unknown>> = {
    ...Object.fromEntries(chosen.filter(([, value]) => value !== "")),
    ...(labels.length === 0 ? {} : { labels: Object.fromEntries(labels) }),
  };
  return { selector };
}

function labelOf(line: string): readonly [name: string, value: string] {
  const [name = "", ...value] = line.split("=");
  return [name.trim(), value.join("=").trim()];
}

function partsOf(text: string, separator: string | RegExp): readonly string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

const LOCAL_TIME = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d/g;

/** Local times, in the person's time zone. The service refuses a line without two of them, by what it says. */
function windowsOf(text: string) {
  return partsOf(text, "\n").map((line) => {
    const [startsAt = line, endsAt = line] = line.match(LOCAL_TIME) ?? [];
    return { starts_at: instant(startsAt), ends_at: instant(endsAt) };
  });
}

function instant(local: string): string {
  const ms = new Date(local).getTime();
  return Number.isNaN(ms) ? local : new Date(ms).toISOString();
}
