import * as z from "zod";

const names = z.array(z.string()).readonly();

const axesSchema = z.object({
  minimum_count: z.int(),
  /** Null where more are no harm. */
  maximum_count: z.int().nullable(),
  /** Canonical units, of which every axis has one; empty: any unit. */
  units: names,
  /** `group.element.quantity`: all of these must be there. */
  names,
});

const requirementsSchema = z.object({
  /** Type ids of which the robot has one; empty: any type. */
  robot_types: names,
  /** All of these roles must be there. */
  camera_roles: names,
  state_axes: axesSchema.nullable(),
  action_axes: axesSchema.nullable(),
});

/** What a robot must bring for a checkpoint to drive it. Nothing is asked where a list is empty or a member null. */
export type Requirements = Readonly<z.output<typeof requirementsSchema>>;

/** What is asked of a state or action vector. */
export type AxesRequirement = Readonly<z.output<typeof axesSchema>>;

/** Units of a contract's axes; `1` is a ratio, an aperture or a normalized range. */
export const AXIS_UNITS = ["rad", "m", "rad/s", "m/s", "N.m", "N", "1"] as const;

/** Asks nothing. */
export const NO_REQUIREMENTS: Requirements = { robot_types: [], camera_roles: [], state_axes: null, action_axes: null };

/**
 * Requirements as the store keeps them.
 *
 * @throws where the text was not made by `printRequirements`.
 */
export function parseRequirements(text: string): Requirements {
  return requirementsSchema.parse(JSON.parse(text));
}

/** The same text for the same requirements, so that texts can be compared. */
export function printRequirements(requirements: Requirements): string {
  return JSON.stringify(requirementsSchema.parse(requirements));
}
