import * as z from "zod";

const names = z.array(z.string()).readonly();

const axesSchema = z.object({
  minimum_count: z.int(),
  /** Null for no maximum. */
  maximum_count: z.int().nullable(),
  /** Canonical units, one of which every axis must have; empty: any unit. */
  units: names,
  /** `group.element.quantity`: all of these are required. */
  names,
});

const requirementsSchema = z.object({
  /** Accepted type ids; empty: any type. */
  robot_types: names,
  /** All of these roles are required. */
  camera_roles: names,
  state_axes: axesSchema.nullable(),
  action_axes: axesSchema.nullable(),
});

/** What a checkpoint requires of a robot. An empty list or a null member is no requirement. */
export type Requirements = Readonly<z.output<typeof requirementsSchema>>;

/** Requirements on a state or action vector. */
export type AxesRequirement = Readonly<z.output<typeof axesSchema>>;

/** Units of a contract's axes; `1` is a ratio, an aperture or a normalized range. */
export const AXIS_UNITS = ["rad", "m", "rad/s", "m/s", "N.m", "N", "1"] as const;

/** No requirements. */
export const NO_REQUIREMENTS: Requirements = { robot_types: [], camera_roles: [], state_axes: null, action_axes: null };

/**
 * Parses requirements from the store.
 *
 * @throws if the text is not from `printRequirements`.
 */
export function parseRequirements(text: string): Requirements {
  return requirementsSchema.parse(JSON.parse(text));
}

/** Equal requirements have equal texts, so that texts can be compared. */
export function printRequirements(requirements: Requirements): string {
  return JSON.stringify(requirementsSchema.parse(requirements));
}
