import type { AuditEntryView } from "../audit.ts";
import type { RefusalView, RegistrationView } from "../registrations.ts";

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

/** Why a registration was refused: `region: Field required (422)`. */
export function refusalInWords({ detail, status }: RefusalView): string {
  return `${detail} (${status})`;
}

/** A name that more than one computer registers. */
export interface ContestInWords {
  readonly what: string;
  readonly from: string;
  readonly remedy: string;
}

/** Null if the robot's name is not contested. */
export function contestInWords({
  contested_since: contestedSince,
  contested_from: contestedFrom,
}: Pick<RegistrationView, "contested_since" | "contested_from">): ContestInWords | null {
  if (contestedSince === null) return null;
  const from = contestedFrom.map(({ address, actor }) => `${address} (${actor.label ?? actor.id})`).join(" and ");
  return contestedFrom.length < 2
    ? {
        what: "its registration alternates between two contents",
        from,
        remedy: "if two computers there have this name, give each its own name",
      }
    : {
        what: `${contestedFrom.length} computers register this name in turn`,
        from,
        remedy: "give each computer its own name",
      };
}
