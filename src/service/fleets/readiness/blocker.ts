import type { FleetNeed } from "../../../api/fleet-details.ts";
import { shown } from "../../../documents/texts.ts";
import type { UnableMembers } from "./assessment.ts";

/** Maximum number of reasons in a sentence; of the other robots it gives only the number. */
const REASONS_MAXIMUM = 3;

/** Reason and action as one text. */
export function needInWords({ reason, action }: FleetNeed): string {
  return `${reason} ${action}`;
}

/** For a fleet in which no robot can run the model. */
export function allMembersBlocked(subject: string, unable: readonly UnableMembers[]): FleetNeed {
  if (unable.length === 0) {
    return { reason: "This fleet has no robots.", action: "Delete the fleet, or create it again with robots." };
  }
  if (areRemoved(unable)) {
    return {
      reason: "All robots of this fleet were removed.",
      action: "Delete the fleet, or create it again with other robots.",
    };
  }
  return {
    reason: `No robot of this fleet can run ${shown(subject)}: ${reasons(subject, unable)}.`,
    action: "Set up robots again so that they fit, or update the fleet to another model.",
  };
}

/** For a scheduled fleet without further windows. */
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
  if (areRemoved(unable)) {
    const removed = robotsOf(unable);
    return {
      reason: `${removed} of ${members} robots ${removed === 1 ? "was" : "were"} removed: ${whom(exampleOf(unable), removed - 1)}.`,
      action: "Create the fleet again without them.",
    };
  }
  return {
    reason: `${robotsOf(unable)} of ${members} robots cannot run ${shown(subject)}: ${reasons(subject, unable)}.`,
    action: "Set these up again so that they fit, or update the fleet to another model.",
  };
}

/** The reason that affects most robots first. Independent of the order of the members, which differs between callers. */
function reasons(subject: string, unable: readonly UnableMembers[]): string {
  const byReason = [...Map.groupBy(unable, ({ reason }) => reason)]
    .map(([reason, groups]) => ({ reason, robots: robotsOf(groups), example: exampleOf(groups) }))
    .toSorted((left, right) => right.robots - left.robots || (left.example < right.example ? -1 : 1));
  const told = byReason
    .slice(0, REASONS_MAXIMUM)
    .map(({ reason, robots, example }) => `${whom(example, robots - 1)}: ${shown(subject)} ${reason}`);
  const rest = byReason.slice(REASONS_MAXIMUM).reduce((sum, { robots }) => sum + robots, 0);
  return rest === 0 ? told.join("; ") : `${told.join("; ")}; and ${rest} more for other reasons`;
}

/** The first of these robots by name. */
function exampleOf(groups: readonly UnableMembers[]): string {
  return groups.map(({ group }) => group.example).toSorted()[0] ?? "";
}

/** `r1`, or `r1 and 2 more`. */
function whom(example: string, others: number): string {
  return others > 0 ? `${shown(example)} and ${others} more` : shown(example);
}

function robotsOf(unable: readonly UnableMembers[]): number {
  return unable.reduce((sum, { group }) => sum + group.count, 0);
}

function areRemoved(unable: readonly UnableMembers[]): boolean {
  return unable.every(({ group }) => group.isRemoved);
}
