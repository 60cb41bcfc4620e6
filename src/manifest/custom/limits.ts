/** Limits in canonical units. */
import type { Element } from "./group.ts";
import type { CompleteGroup } from "./robot.ts";
import { conversion } from "./units.ts";

/** Canonical units in one unit of the group's limits, for an element that has a unit. */
export function limitConversion(group: CompleteGroup, { unit }: Element): number {
  if (group.kind.value === "gripper" && group.aperture !== undefined) {
    const { closed, open } = group.aperture.value;
    return Math.abs(1 / (open - closed));
  }
  const written = group.limits?.value.unit?.value ?? unit;
  return written === null ? 1 : conversion(written).scale;
}

/** As the contract shows it: 12 significant decimal digits, no negative zero (SPEC section 7, step 8). */
export function rounded(value: number): number {
  return Number(value.toPrecision(12)) + 0;
}
