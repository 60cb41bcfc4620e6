import type { ApiKeyScope } from "../../../api/wire/scopes.ts";

/** The robots that a key may set up. */
export interface KeyRobots {
  /** Null for any. */
  readonly names: readonly string[] | null;
  /** How many it may add; null when only the limits of the service apply. */
  readonly maximum: number | null;
}

export const ANY_ROBOTS: KeyRobots = { names: null, maximum: null };

/** Decodes the names from the store; null for any. */
export function readRobotNames(robots: string | null): readonly string[] | null {
  if (robots === null) return null;
  const names: unknown = JSON.parse(robots);
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
}

/** Why a key with these scopes cannot be bound to robots; null when it can. */
export function bindingProblem(scopes: readonly ApiKeyScope[] | null): string | null {
  if (scopes === null || !scopes.includes("robots:setup")) {
    return "only a key whose scopes have robots:setup can be bound to robots";
  }
  if (!scopes.includes("api-keys:write")) return null;
  return "a key with the scope api-keys:write cannot be bound to robots, because it could make one that is not";
}
