import type { FleetNeed } from "../../api/fleet-details.ts";
import { shown } from "../../manifest/shown.ts";
import type { UnableMembers } from "./assessment.ts";

/** Reasons a sentence gives before it says how many robots there are besides. */
const REASONS_MAXIMUM = 3;

/** As one text, for members of a view that have room for a sentence alone. */
export function needInWords({ reason, action }: FleetNeed): string {
  return `${reason} ${action}`;
}

/** For a fleet none of whose robots its model can drive. */
export function allMembersBlocked(subject: string, unable: readonly UnableMembers[]): FleetNeed {
  return {
    reason: `No robot of this fleet can run ${shown(subject)}: ${reasons(subject, unable)}.`,
    action: "Set up robots again so that they fit, or update the fleet to another model.",
  };
}

/** For a scheduled fleet that is over. */
export function allWindowsPast(): FleetNeed {
  return {
    reason: "All operating windows are past.",
    action: "Create a fleet with windows that are still to come.",
  };
}

/**
 * For a model that some robots of a fleet cannot run.
 *
 * @param unable these robots.
 * @param members how many the fleet has.
 */
export function someMembersBlocked(subject: string, unable: readonly UnableMembers[], members: number): FleetNeed {
  return {
    reason: `${robotsOf(unable)} of ${members} robots cannot run ${shown(subject)}: ${reasons(subject, unable)}.`,
    action: "Set these up again so that they fit, or update the fleet to another model.",
  };
}

function reasons(subject: string, unable: readonly UnableMembers[]): string {
  const by_reason = [...Map.groupBy(unable, ({ reason }) => reason)];
  const told = by_reason
    .slice(0, REASONS_MAXIMUM)
    .map(([reason, groups]) => `${whom(groups)}: ${shown(subject)} ${reason}`);
  const rest = robotsOf(by_reason.slice(REASONS_MAXIMUM).flatMap(([, groups]) => groups));
  return rest === 0 ? told.join("; ") : `${told.join("; ")}; and ${rest} more for other reasons`;
}

/** `r1`, or `r1 and 2 more`. */
function whom(groups: readonly UnableMembers[]): string {
  const example = shown(groups[0]?.group.example ?? "");
  const others = robotsOf(groups) - 1;
  return others > 0 ? `${example} and ${others} more` : example;
}

function robotsOf(unable: readonly UnableMembers[]): number {
  return unable.reduce((sum, { group }) => sum + group.count, 0);
}
