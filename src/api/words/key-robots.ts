import type { ApiKeyView } from "../keys.ts";

/** Which robots a key may set up, behind its scopes: ` for arm-1, arm-2`. Empty where it may set up any. */
export function keyRobotsInWords({ robots, max_robots: maxRobots }: Pick<ApiKeyView, "robots" | "max_robots">): string {
  const names = (robots ?? null) === null ? "" : ` for ${robots?.join(", ")}`;
  return (maxRobots ?? null) === null ? names : `${names} (${maxRobots} new at most)`;
}
