/** How many times slower than usual the tests run: scripts/flake stops them for most of the time. */
const SLOWNESS = Number(process.env["ROBOT_POLICY_TEST_SLOWNESS"] ?? 1);

/** Longest wait for a state that must come. Generous, because a wait ends as soon as the state is there. */
export const PATIENCE_MS = 60_000 * SLOWNESS;
