/**
 * The two tiers of the tests, as test/README.md tells: the gate (`scripts/test`) proves every feature and every scenario once, the long tier
 * (`scripts/test --long`) repeats it with all seeds, all systemds and thousands of generated inputs.
 */
export const isLong = process.env["ROBOT_POLICY_TEST_LONG"] === "1";

/** How often something is tried. */
export function times(inGate: number, inLong: number): number {
  return isLong ? inLong : inGate;
}
