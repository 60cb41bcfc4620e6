/**
 * The two tiers of the tests, see test/README.md: the gate (`scripts/test`) proves every feature and every scenario once; the long tier
 * (`scripts/test --long`) repeats them with all seeds, all systemds and thousands of generated inputs.
 */
export const isLong = process.env["ROBOT_POLICY_TEST_LONG"] === "1";

/** Number of repetitions: the first in the gate, the second in the long tier. */
export function times(inGate: number, inLong: number): number {
  return isLong ? inLong : inGate;
}
