import { groupBy } from "./group-by.ts";
import type { PreviewedRobot } from "../fleet-details.ts";

/** Robots with the same answer: they lack the same requirements, or would wait for the same endpoint. */
export interface FitGroup {
  /** `lacks`: incompatible. `waits`: compatible, but the endpoint in their region is not healthy. `runs`: can run the model now. */
  readonly fit: "lacks" | "waits" | "runs";
  /** Null for `runs`. */
  readonly reason: string | null;
  readonly robots: readonly PreviewedRobot[];
}

const ORDER: readonly FitGroup["fit"][] = ["lacks", "waits", "runs"];

/** Incompatible groups first, larger groups first. Robots that were not checked form one group that runs. */
export function fitGroups(robots: readonly PreviewedRobot[]): readonly FitGroup[] {
  const groups = groupBy(robots, ({ fits, reason }) => JSON.stringify([fits, reason]));
  return [...groups.values()]
    .flatMap((group) => {
      const [first] = group;
      return first === undefined ? [] : [{ fit: fitOf(first), reason: first.reason, robots: group }];
    })
    .sort(
      (left, right) => ORDER.indexOf(left.fit) - ORDER.indexOf(right.fit) || right.robots.length - left.robots.length,
    );
}

function fitOf({ fits, reason }: PreviewedRobot): FitGroup["fit"] {
  if (fits === false) return "lacks";
  return reason === null ? "runs" : "waits";
}

/** How many robots are in each kind of group. */
export function fitCounts(groups: readonly FitGroup[]): Readonly<Record<FitGroup["fit"], number>> {
  const counts = { lacks: 0, waits: 0, runs: 0 };
  for (const { fit, robots } of groups) counts[fit] += robots.length;
  return counts;
}
