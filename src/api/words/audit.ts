import type { RefusalView, RegistrationView } from "../registrations.ts";

/** Texts for registrations, at a terminal and in a browser. */

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
