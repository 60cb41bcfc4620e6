/**
 * Fleets with `membership: "follow"`: robots join and leave as they come to match the selector.
 *
 * A setup, an enrolment and a removal leave a check (robots/selection.ts) in their transaction; task.ts takes the checks about once a
 * second, compares each robot with the selectors of its organization under locks of those fleets (queries.ts), and enters each change in
 * the audit log. A fleet that begins to follow leaves a check of its own, which finds the robots of transactions that it could not see.
 *
 * Members change within the generation, as they do when a member registers in another region: the model stays, so do deployments, which
 * belong to robots. Readiness follows from the members of the moment. A newcomer that cannot run the model makes the fleet degraded, and
 * blocked if no other can, with its name in the reason; an update waits for members that would lose their model.
 */
import type { FleetSelectionView, MembershipChange } from "../../../api/fleet-details.ts";
import { SELECTION_ROBOTS_COUNT } from "../../../api/fleets.ts";
import { shown } from "../../../manifest/shown.ts";
import type { Label } from "../../robots/index.ts";

/** Maximum fleets of one organization that follow: each changed robot is compared with all. Concurrent requests may exceed it by a few. */
export const FOLLOWING_MAXIMUM = 200;

export type Selector = NonNullable<FleetSelectionView["selector"]>;

/** What a selector is compared with. */
export interface Candidate {
  readonly id: string;
  readonly name: string;
  readonly site: string | null;
  readonly region: string;
  readonly robotTypeId: string;
  readonly labels: readonly Label[];
  readonly isRemoved: boolean;
}

export interface Move {
  readonly robot: Candidate;
  readonly change: MembershipChange["change"];
  readonly reason: string;
}

/**
 * How these robots join and leave a fleet. A member stays while it matches, so that a full fleet keeps its robots whoever else matches.
 *
 * @param members those of the robots that are members.
 * @param count members of the fleet, these and others.
 */
export function movesOf(
  selector: Selector,
  robots: readonly Candidate[],
  members: ReadonlySet<string>,
  count: number,
): readonly Move[] {
  const judged = robots.map((robot) => ({ robot, lack: mismatch(robot, selector) }));
  const left = judged.flatMap(({ robot, lack }): readonly Move[] =>
    lack === null || !members.has(robot.id) ? [] : [{ robot, change: "left", reason: lack }],
  );
  const newcomers = judged.filter(({ robot, lack }) => lack === null && !members.has(robot.id));
  const room = SELECTION_ROBOTS_COUNT.maximum - (count - left.length);
  const joined = newcomers.map(({ robot }, index): Move =>
    index < room
      ? { robot, change: "joined", reason: "it matches the selector" }
      : {
          robot,
          change: "left_out",
          reason: `the fleet has ${SELECTION_ROBOTS_COUNT.maximum} robots, the most it may have`,
        },
  );
  return [...left, ...joined];
}

/** Why a selector does not match a robot, as a clause about `it`; null if it matches. */
export function mismatch(
  robot: Candidate,
  { site, region, robot_type_id: robotTypeId, labels }: Selector,
): string | null {
  if (robot.isRemoved) return "it was removed";
  if (site !== null && robot.site !== site)
    return robot.site === null ? "it has no site" : `its site is ${shown(robot.site)}`;
  if (region !== null && robot.region !== region) return `its region is ${shown(robot.region)}`;
  if (robotTypeId !== null && robot.robotTypeId !== robotTypeId) return `its type is ${shown(robot.robotTypeId)}`;
  const own = new Map(robot.labels);
  const lacking = Object.entries(labels).find(([name, value]) => own.get(name) !== value);
  if (lacking === undefined) return null;
  const value = own.get(lacking[0]);
  return value === undefined
    ? `it has no label ${shown(lacking[0])}`
    : `its label ${shown(lacking[0])} is ${shown(value)}`;
}
