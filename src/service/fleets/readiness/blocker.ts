import type { FleetNeed } from "../../../api/fleet-details.ts";
import { shown } from "../../../documents/texts.ts";
import { shellWord } from "../../../platform/text/shell-word.ts";
import { type FleetFacts, type MemberGroup, parseSelection, robotsIn } from "./fleet-facts.ts";

/** Why members cannot run a model: a predicate with the model as its subject, such as `has no endpoint …`. */
export type UnableMembers = ReadonlyMap<MemberGroup, string>;

/** Maximum number of reasons in a sentence; of the other robots it gives only the number. */
const REASONS_MAXIMUM = 3;

/** Reason and action as one text. */
export function needInWords({ reason, action }: FleetNeed): string {
  return `${reason} ${action}`;
}

/** For a fleet in which no robot can run the model. */
export function allMembersBlocked({ name, selection }: FleetFacts, subject: string, unable: UnableMembers): FleetNeed {
  if ([...unable.keys()].every(({ isRemoved }) => isRemoved)) {
    const reason = unable.size === 0 ? "This fleet has no robots." : "All robots of this fleet were removed.";
    const isSelected = parseSelection(selection).kind === "selector";
    const action = isSelected
      ? `${reconcile(name)}, or delete it.`
      : "Delete the fleet, or create it again with other robots.";
    return { reason, action };
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

/** For members that were removed, while others can run the model. */
export function someMembersRemoved({ name, members }: FleetFacts, removed: readonly MemberGroup[]): FleetNeed {
  const count = robotsIn(removed);
  const which = whom(exampleOf(removed), count - 1);
  return {
    reason: `${count} of ${robotsIn(members)} robots ${count === 1 ? "was" : "were"} removed: ${which}.`,
    action: `${reconcile(name)}.`,
  };
}

/** For a model that these robots of a fleet cannot run. */
export function someMembersBlocked({ members }: FleetFacts, subject: string, unable: UnableMembers): FleetNeed {
  return {
    reason: `${robotsIn([...unable.keys()])} of ${robotsIn(members)} robots cannot run ${shown(subject)}: ${reasons(subject, unable)}.`,
    action: "Set these up again so that they fit, or update the fleet to another model.",
  };
}

function reconcile(name: string): string {
  return `Take its members again: robot-policy fleets reconcile ${shellWord(name)}`;
}

/** The reason that affects most robots first. Independent of the order of the members, which differs between callers. */
function reasons(subject: string, unable: UnableMembers): string {
  const byReason = [...Map.groupBy(unable.keys(), (group) => unable.get(group) ?? "")]
    .map(([reason, groups]) => ({ reason, robots: robotsIn(groups), example: exampleOf(groups) }))
    .toSorted((left, right) => right.robots - left.robots || (left.example < right.example ? -1 : 1));
  const named = byReason
    .slice(0, REASONS_MAXIMUM)
    .map(({ reason, robots, example }) => `${whom(example, robots - 1)}: ${shown(subject)} ${reason}`);
  const rest = byReason.slice(REASONS_MAXIMUM).reduce((sum, { robots }) => sum + robots, 0);
  return rest === 0 ? named.join("; ") : `${named.join("; ")}; and ${rest} more for other reasons`;
}

/** The first of these robots by name. */
function exampleOf(groups: readonly MemberGroup[]): string {
  return groups.map(({ example }) => example).toSorted()[0] ?? "";
}

/** `r1`, or `r1 and 2 more`. */
function whom(example: string, others: number): string {
  return others > 0 ? `${shown(example)} and ${others} more` : shown(example);
}
