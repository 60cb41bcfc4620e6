import type { AuditEntryView, RefusalView } from "./audit.ts";
import type { RegistrationView } from "./registrations.ts";

/** How changes and refused registrations are put for a person, at a terminal and in a browser. */

/** What was changed: its name, where the change has one. */
export function subjectOf({ details, subject_id }: AuditEntryView): string {
  const named = [details["name"], details["label"]].find((name) => typeof name === "string");
  return typeof named === "string" ? named : subject_id;
}

/** What else is known of a change: `scopes=robots:setup expires_at=2030-01-31`. */
export function detailsInWords(entry: AuditEntryView): string {
  const subject = subjectOf(entry);
  return Object.entries(entry.details)
    .filter(([, value]) => value !== null && value !== subject)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");
}

/** Why a registration was refused: `region: Field required (422, 3 times)`. */
export function refusalInWords({ detail, status, count }: RefusalView): string {
  return `${detail} (${status}${count === 1 ? "" : `, ${count} times`})`;
}

/** Those since the robot registered last: the others are over. */
export function refusedSince(refusals: readonly RefusalView[], registeredAt: string | null): readonly RefusalView[] {
  return refusals.filter(({ last_at }) => registeredAt === null || Date.parse(last_at) > Date.parse(registeredAt));
}

/** A name that more than one computer registers. */
export interface ContestInWords {
  readonly what: string;
  readonly from: string;
  readonly remedy: string;
}

/** Null where a robot's name is not contested. */
export function contestInWords({
  contested_since,
  contested_from,
}: Pick<RegistrationView, "contested_since" | "contested_from">): ContestInWords | null {
  if (contested_since === null) return null;
  const from = contested_from.map(({ address, actor }) => `${address} (${actor.label ?? actor.id})`).join(" and ");
  return contested_from.length < 2
    ? {
        what: "its registration changes to and fro",
        from,
        remedy: "if two computers there have this name, give each a name of its own",
      }
    : {
        what: `${contested_from.length} computers register this name in turn`,
        from,
        remedy: "give each of them a name of its own",
      };
}
