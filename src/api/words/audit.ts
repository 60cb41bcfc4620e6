import type { AuditEntryView } from "../audit.ts";

/** Texts for changes and registrations, at a terminal and in a browser. */

/** The subject of a change: `line 4`, or for a deployment `pi0.5 on arm-3`; empty if it has no name. */
export function subjectOf({ subject_name: subjectName, subject_model: subjectModel }: AuditEntryView): string {
  return subjectModel === null ? (subjectName ?? "") : `${subjectModel} on ${subjectName ?? "a robot"}`;
}

/** Details of a change, without ids: `scopes=robots:setup expires_at=2030-01-31`. */
export function detailsInWords({
  details,
  subject_name: subjectName,
  subject_model: subjectModel,
}: AuditEntryView): string {
  return Object.entries(details)
    .filter(([name, value]) => value !== null && !name.endsWith("_id"))
    .filter(([, value]) => value !== subjectName && value !== subjectModel)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");
}
