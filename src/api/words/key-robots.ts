import type { ApiKeyView } from "../keys.ts";

/** The robots that a key may set up, as a suffix of its scopes: ` for arm-1, arm-2`. Empty for any robot. */
export function keyRobotsInWords({ robots, max_robots: maxRobots }: Pick<ApiKeyView, "robots" | "max_robots">): string {
  const names = (robots ?? null) === null ? "" : ` for ${robots?.join(", ")}`;
  return (maxRobots ?? null) === null ? names : `${names} (${maxRobots} new at most)`;
}
