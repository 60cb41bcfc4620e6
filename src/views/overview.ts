/** What an operator looks at first: what needs attention, then how many there are of each. */
import type { EndpointView } from "../api/endpoints.ts";
import { type ListedRobot, ROBOT_STATES, robotState } from "./robots.ts";

/** Things with the same trouble. */
export interface Attention {
  readonly title: string;
  readonly noun: string;
  readonly items: readonly AttentionItem[];
  /** Where all of them are: a page of the console, and a command. */
  readonly path: string;
  readonly command: string;
  /** Nothing goes on before it is mended. */
  readonly isBlocked: boolean;
}

export interface AttentionItem {
  readonly name: string;
  /** Null for what is no robot. */
  readonly robotId: string | null;
  readonly reason: string | null;
  /** Since when, ISO 8601; null for never. */
  readonly at: string | null;
}

const ROBOT_TROUBLES = [
  ["contested", "Names that two computers register"],
  ["not_ready", "Robots that cannot register"],
  ["offline", "Robots that are offline"],
] as const;

/** Robots that need attention, by their state; those that went last come first. */
export function robotsToAttend(robots: readonly ListedRobot[]): readonly Attention[] {
  return ROBOT_TROUBLES.map(([state, title]) => {
    const items = robots.flatMap((robot) => {
      const known = robotState(robot);
      if (known?.state !== state) return [];
      const { name, id, last_seen_at: lastSeenAt } = robot.view;
      const reason = state === "not_ready" ? (known.reason ?? null) : null;
      return [{ name, robotId: id, reason, at: known.since ?? lastSeenAt }];
    });
    return {
      title,
      noun: "robot",
      items: items.sort((left, right) => (right.at ?? "").localeCompare(left.at ?? "")),
      path: `/robots?state=${state}`,
      command: `robot-policy robots list --state ${state}`,
      isBlocked: false,
    };
  });
}

export function endpointsToAttend(endpoints: readonly EndpointView[]): Attention {
  const failing = endpoints.filter(({ status }) => status === "unhealthy");
  return {
    title: "Inference endpoints that fail",
    noun: "endpoint",
    items: failing.map(({ model_slug: model, region, since, detail }) => {
      return { name: `${model} in ${region}`, robotId: null, reason: detail, at: since };
    }),
    path: "/models",
    command: "robot-policy models list",
    isBlocked: true,
  };
}

/** How many there are in each state, in this order; states that nothing is in only where they are usual. */
export function stateCounts(
  states: readonly (string | undefined)[],
  order: readonly string[],
  usual: readonly string[] = [],
): readonly (readonly [state: string, count: number])[] {
  const known = [...new Set([...order, ...states.filter((state) => state !== undefined)])];
  return known
    .map((state) => [state, states.filter((each) => each === state).length] as const)
    .filter(([state, count]) => count > 0 || usual.includes(state));
}

/** Not monitored robots beside those that are online and offline. "unknown": the service does not say. */
export function robotCounts(robots: readonly ListedRobot[]) {
  const states = robots.map((robot) => robotState(robot)?.state ?? "unknown");
  return stateCounts(states, ROBOT_STATES, ["online", "offline", "not_monitored"]);
}
