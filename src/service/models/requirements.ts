import * as z from "zod";

import { equipmentSchema } from "../robots/index.ts";

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

/** Groups of facts that a robot is compared in, in the order in which differences are said. */
export const FACTS = [
  "axes",
  "order",
  "units",
  "signs",
  "camera_roles",
  "ranges",
  "camera_mounts",
  "camera_sizes",
  "control_rate",
  "devices",
  "files",
] as const;
export type Fact = (typeof FACTS)[number];

const factsSchema = z.array(z.enum(FACTS)).readonly();

/** A robot as it was when a checkpoint was trained. */
const referenceSchema = z.object({
  kind: z.enum(["robot", "contract", "type"]),
  /** As the catalog has it: a robot by name or id, a file, a type of the ready catalog. */
  name: z.string(),
  /** Of a robot: of the registration. */
  digest: z.string().nullable(),
  /** Of a robot. */
  robot_id: z.string().nullable(),
  equipment: equipmentSchema,
});

const trainingSchema = z.object({
  references: z.array(referenceSchema).readonly(),
  /** Of the ends of ranges, by canonical unit. */
  tolerances: z.record(z.string(), z.number().optional()),
  /** Facts in which no difference is allowed, and those in which one is said. */
  require: factsSchema,
  warn: factsSchema,
});

export type Reference = Readonly<z.output<typeof referenceSchema>>;
/** What a checkpoint was trained on: a robot fits that is as one of the references. */
export type Training = Readonly<z.output<typeof trainingSchema>>;

const requirementsSchema = z.object({
  /** Accepted type ids; empty: any type. */
  robot_types: names,
  /** All of these roles are required. */
  camera_roles: names,
  state_axes: axesSchema.nullable(),
  action_axes: axesSchema.nullable(),
  trained_on: trainingSchema.optional(),
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
