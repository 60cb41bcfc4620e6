/** Stage 3 of a custom type: the keys of the body, each read by itself (SPEC sections 2.2 to 2.5). */
import * as z from "zod";

import type { Immutable } from "../../api/contract.ts";
import * as allowed from "../../api/robot-terms.ts";
import { BOUNDS, NAME } from "../../api/robot-terms.ts";
import { nearest } from "../../documents/nearest.ts";
import {
  formed,
  integer,
  type JsonSchema,
  jsonSchema,
  name,
  number,
  text,
  uniqueBy,
  uniqueTexts,
} from "../../documents/schemas.ts";
import { shown } from "../../documents/texts.ts";
import { READY_CATALOG } from "../catalog/ids.ts";
import { FILES, IDENTITY } from "../keys.ts";

export type Topology = (typeof allowed.TOPOLOGIES)[number];
export type ActionSemantics = (typeof allowed.ACTION_SEMANTICS)[number];
export type Gripper = (typeof allowed.GRIPPERS)[number];
export type Kind = (typeof allowed.KINDS)[number];
export type Side = (typeof allowed.SIDES)[number];
export type Unit = (typeof allowed.UNITS)[number];
export type StateQuantity = (typeof allowed.STATE_QUANTITIES)[number];
export type Action = (typeof allowed.ACTIONS)[number];

/** Both are infinite for a joint that turns without end. */
export type Pair = readonly [low: number, high: number];

/** One number for all elements, or one for each. */
export type Scalars = number | readonly number[];

/** Vector elements that share a unit, as the manifest or the catalog has them. */
export type Group = Immutable<z.output<typeof group>>;
export type Limits = NonNullable<Group["limits"]>;
export type Camera = Immutable<z.output<typeof camera>>;

/** The body keys that are present. */
export type Body = Immutable<Omit<z.output<typeof CUSTOM_MANIFEST>, keyof typeof IDENTITY | keyof typeof FILES>>;

const identifier = name(NAME, "a name: lower-case letters, digits and _ only");
const magnitude = number({ minimum: -BOUNDS.magnitude, maximum: BOUNDS.magnitude });
const positive = number({ above: 0, maximum: BOUNDS.magnitude });
const positives = z.union([positive, z.array(positive)], { error: () => "a number or a list of numbers" });

const ENDLESS = "; for a joint that turns without end write {continuous: true} in place of [low, high]";
const bound = number({ minimum: -BOUNDS.magnitude, maximum: BOUNDS.magnitude }, ENDLESS);
const continuous = z.object({
  continuous: z.literal(true).describe("true: the joint turns without end, and has no limits."),
});
const pair = z.union(
  [
    z.tuple([bound, bound], { error: () => "2" }).transform((bounds): Pair => bounds),
    continuous.transform((): Pair => [-Infinity, Infinity]),
  ],
  { error: () => "[low, high] or {continuous: true}" },
);

const limits = z.object({
  unit: z
    .enum(allowed.UNITS)
    .optional()
    .describe("Unit of these limits, where it is not that of the group. Joints only."),
  position: z
    .array(pair)
    .optional()
    .describe("[low, high] for each element, in element order; {continuous: true} for a joint that turns without end."),
  velocity: positives.optional().describe("Units a second: one number for all elements, or a list."),
});

const aperture = z.object({
  closed: magnitude.describe("Value of a closed gripper."),
  open: magnitude.describe("Value of an open gripper."),
});

const normalized = z.object({
  full_scale: positives.describe("In the group's unit: one number for all elements, or a list."),
  per: z.enum(allowed.PERIODS).describe("Whether full_scale is per step or per second."),
});

const group = z.object({
  name: identifier.describe("A name with the word left or right also gives the side."),
  kind: z.enum(allowed.KINDS).optional().describe("torso: also a lift or rail."),
  side: z.enum(allowed.SIDES).optional().describe("As seen from behind the robot. Default: from the name."),
  elements: uniqueTexts(BOUNDS.elements, identifier).optional().describe("Names in the driver's order."),
  unit: z
    .enum(allowed.UNITS)
    .optional()
    .describe(
      "What the driver counts in. calibrated_range: −100 to 100 over the calibrated travel. counts: of an encoder.",
    ),
  angle_unit: z
    .enum(allowed.ANGLE_UNITS)
    .optional()
    .describe("Unit of a base's theta and of an end effector's rotation. Default: rad."),
  counts_per_turn: positive.optional().describe("Of joints in counts: how many a whole turn has."),
  zero: z
    .enum(allowed.ZEROS)
    .optional()
    .describe("Where 0 is: of the URDF, of the driver, or the middle of the calibrated travel."),
  state: uniqueTexts(BOUNDS.state, z.enum(allowed.STATE_QUANTITIES))
    .optional()
    .describe("What is observed. []: nothing."),
  action: z.enum(allowed.ACTIONS).optional().describe("What is commanded. none: nothing."),
  limits: limits.optional().describe("How far and how fast each element may move."),
  aperture: aperture.optional().describe("Native values of a gripper that is closed and of one that is open."),
  normalized: normalized
    .optional()
    .describe("Commands are unitless in −1 to 1; 1 means full_scale, per step or per second."),
  frame: text(BOUNDS.text).optional().describe("The end effector's frame."),
  rotation: z.enum(allowed.ROTATIONS).optional().describe("How an end effector's rotation is written."),
  rotation_frame: text(BOUNDS.text)
    .optional()
    .describe("What an end effector's rotation is relative to, where that is not the robot's base."),
});

const camera = z.object({
  role: identifier.describe("Name of the camera for the policy: top, left, front, wrist, …"),
  mount: z.enum(allowed.MOUNTS).describe("What it moves with."),
  side: z.enum(allowed.SIDES).optional().describe("Of a wrist camera. Default: from the role."),
  width: integer(BOUNDS.image_size_px).describe("Pixels of the image as sent."),
  height: integer(BOUNDS.image_size_px).describe("Pixels of the image as sent."),
  fps: number(BOUNDS.fps).describe("Frames a second that are really delivered."),
  rotation_degrees: z.literal(allowed.ROTATION_DEGREES).default(0).describe("Clockwise turn applied before sending."),
  color_space: z.enum(["rgb"]).default("rgb").describe("rgb, and nothing else."),
  pixel_dtype: z.enum(["uint8"]).default("uint8").describe("uint8, and nothing else."),
});

const BASES = [...READY_CATALOG.keys()];

const baseId = formed(
  "extends_unknown",
  (written) => {
    if (BASES.includes(written)) return undefined;
    const near = nearest(written, BASES);
    return `no catalog type ${shown(written)}${near === undefined ? "" : `; did you mean ${near}?`}`;
  },
  { enum: BASES },
);

/** A manifest that describes its robot itself, or extends a catalog type. */
export const CUSTOM_MANIFEST = z.object({
  ...IDENTITY,
  extends: baseId
    .optional()
    .describe("Catalog type to start from; write only what differs. robot-policy-agent catalog ID shows it."),
  topology: z
    .enum(allowed.TOPOLOGIES)
    .optional()
    .describe("single_arm, bimanual, or mobile_manipulator where there is a base."),
  action_semantics: z
    .enum(allowed.ACTION_SEMANTICS)
    .optional()
    .describe("What a command of the policy means to the arms or end effectors."),
  gripper: z
    .enum(allowed.GRIPPERS)
    .optional()
    .describe("binary: open from aperture 0.5. Default: continuous if a gripper is commanded."),
  control_rate_hz: number(BOUNDS.control_rate_hz)
    .optional()
    .describe("Commands a second that the robot takes from the policy."),
  groups: uniqueBy("name", BOUNDS.groups, group)
    .optional()
    .describe(
      "Vector elements that share a unit. Their order is the order of the vectors: the driver's, never sorted.",
    ),
  cameras: uniqueBy("role", BOUNDS.cameras, camera).optional().describe("What the policy sees."),
  ...FILES,
});

/** JSON Schema (2020-12) of a manifest, for editors. Rules that a schema cannot express are left to `check`. */
export function manifestSchema(): JsonSchema {
  const examples = [...READY_CATALOG].filter(([, { hosted }]) => hosted).map(([id]) => id);
  const { robot_type_id: typeId } = CUSTOM_MANIFEST.shape;
  return jsonSchema(
    CUSTOM_MANIFEST.extend({ robot_type_id: typeId.meta({ ...typeId.meta(), examples }) }),
    "Robot manifest",
    "What type of robot this is, and which files decide how it behaves.",
  );
}
