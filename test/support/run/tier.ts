/**
 * The three tiers of the tests, see test/README.md. A test that needs more than Node says so by a tag. `scripts/test` runs the tests without
 * a tag, `scripts/test --all` those with one, and `scripts/test --long` everything, with all seeds, systemds and generated inputs.
 */
/** What a test may need beside Node. A description completes "N tests …". */
export const NEEDS = [
  { name: "needs/program", description: "start programs" },
  { name: "needs/root", description: "are root: other users, mounts, limits" },
  { name: "needs/postgres", description: "use PostgreSQL" },
  { name: "needs/browser", description: "use Chromium" },
  { name: "needs/machine", description: "boot Debian with systemd" },
  { name: "needs/time", description: "take long" },
  { name: "needs/night", description: "run with --long alone" },
] as const;

declare module "vitest" {
  interface TestTags {
    tags: (typeof NEEDS)[number]["name"];
  }
}

/** The filter of `scripts/test`. */
export const WITHOUT_NEEDS = "!needs/*";

export const isLong = process.env["ROBOT_POLICY_TEST_LONG"] === "1";

/** Number of repetitions: the first in the gate, the second in the long tier. */
export function times(inGate: number, inLong: number): number {
  return isLong ? inLong : inGate;
}
