import * as body from "../../api/robot-terms.ts";
import { BOUNDS, NAME } from "../../api/robot-terms.ts";
import type { CatalogRow } from "../catalog/catalog.ts";

type Schema = Readonly<Record<string, unknown>>;

/** JSON Schema of the keys of a custom type: SPEC sections 2.2 to 2.5, as far as a schema can express them. */
export function bodySchema(catalog: readonly CatalogRow[]): Schema {
  return {
    extends: {
      enum: catalog.map(({ robot_type_id: robotTypeId }) => robotTypeId),
      description: "Catalog type to start from; write only what differs. robot-policy-agent catalog ID shows it.",
    },
    topology: choice(body.TOPOLOGIES, "single_arm, bimanual, or mobile_manipulator where there is a base."),
    action_semantics: choice(body.ACTION_SEMANTICS, "What a command of the policy means to the arms or end effectors."),
    gripper: choice(body.GRIPPERS, "binary: open from aperture 0.5. Default: continuous if a gripper is commanded."),
    control_rate_hz: {
      ...number(BOUNDS.control_rate_hz),
      description: "Commands a second that the robot takes from the policy.",
    },
    groups: {
      type: "array",
      ...count(BOUNDS.groups),
      description:
        "Vector elements that share a unit. Their order is the order of the vectors: the driver's, never sorted.",
      items: GROUP,
    },
    cameras: { type: "array", ...count(BOUNDS.cameras), description: "What the policy sees.", items: CAMERA },
  };
}

function choice(values: readonly string[], description: string): Schema {
  return { enum: [...values], description };
}

function number(bounds: { readonly above?: number; readonly minimum?: number; readonly maximum: number }): Schema {
  const { above, minimum, maximum } = bounds;
  return { type: "number", maximum, ...(above === undefined ? { minimum } : { exclusiveMinimum: above }) };
}

function count({ minimum, maximum }: { readonly minimum: number; readonly maximum: number }): Schema {
  return { minItems: minimum, maxItems: maximum };
}

function mapping(required: readonly string[], properties: Schema, description?: string): Schema {
  return {
    type: "object",
    required,
    additionalProperties: false,
    patternProperties: { "^x-": {} },
    properties,
    ...(description === undefined ? {} : { description }),
  };
}

const NAME_SCHEMA: Schema = { type: "string", pattern: NAME.source };
const MAGNITUDE: Schema = { type: "number", minimum: -BOUNDS.magnitude, maximum: BOUNDS.magnitude };
const POSITIVE: Schema = { type: "number", exclusiveMinimum: 0, maximum: BOUNDS.magnitude };
const SCALARS: Schema = { anyOf: [POSITIVE, { type: "array", items: POSITIVE }] };

const LIMITS = mapping(
  [],
  {
    unit: choice(body.UNITS, "Unit of these limits, where it is not that of the group. Joints only."),
    position: {
      type: "array",
      items: { type: "array", items: MAGNITUDE, minItems: 2, maxItems: 2 },
      description: "[low, high] for each element, in element order.",
    },
    velocity: { ...SCALARS, description: "Units a second: one number for all elements, or a list." },
  },
  "How far and how fast each element may move.",
);

const GROUP = mapping(["name"], {
  name: { ...NAME_SCHEMA, description: "left and right as words of it say the side." },
  kind: choice(body.KINDS, "torso: also a lift or rail."),
  side: choice(body.SIDES, "As seen from behind the robot. Default: from the name."),
  elements: {
    type: "array",
    items: NAME_SCHEMA,
    ...count(BOUNDS.elements),
    uniqueItems: true,
    description: "Names in the driver's order.",
  },
  unit: choice(body.UNITS, "What the driver counts in. calibrated_range: −100 to 100 over the calibrated travel."),
  angle_unit: choice(body.ANGLE_UNITS, "Of a base's theta and an end effector's rotation. Default: rad."),
  zero: choice(body.ZEROS, "Where 0 is: of the URDF, of the driver, or the middle of the calibrated travel."),
  state: {
    type: "array",
    items: { enum: [...body.STATE_QUANTITIES] },
    ...count(BOUNDS.state),
    uniqueItems: true,
    description: "What is observed. []: nothing.",
  },
  action: choice(body.ACTIONS, "What is commanded. none: nothing."),
  limits: LIMITS,
  aperture: mapping(
    ["closed", "open"],
    { closed: MAGNITUDE, open: MAGNITUDE },
    "Native values of a gripper that is closed and of one that is open.",
  ),
  normalized: mapping(
    ["full_scale", "per"],
    {
      full_scale: { ...SCALARS, description: "In the group's unit: one number for all elements, or a list." },
      per: choice(body.PERIODS, "Whether full_scale is the way of one step or of one second."),
    },
    "Commands are unitless in −1 to 1; 1 means full_scale, per step or per second.",
  ),
  frame: { type: "string", minLength: 1, maxLength: BOUNDS.text, description: "The end effector's frame." },
  rotation: choice(body.ROTATIONS, "How an end effector's rotation is written."),
});

const CAMERA = mapping(["role", "mount", "width", "height", "fps"], {
  role: { ...NAME_SCHEMA, description: "What the policy knows it by: top, left, front, wrist, …" },
  mount: choice(body.MOUNTS, "What it moves with."),
  side: choice(body.SIDES, "Of a wrist camera. Default: from the role."),
  width: { ...number(BOUNDS.image_size_px), type: "integer", description: "Pixels of the image as sent." },
  height: { ...number(BOUNDS.image_size_px), type: "integer", description: "Pixels of the image as sent." },
  fps: { ...number(BOUNDS.fps), description: "Frames a second that are really delivered." },
  rotation_degrees: {
    enum: [...body.ROTATION_DEGREES],
    description: "Clockwise turn applied before sending. Default: 0.",
  },
  color_space: { const: "rgb", description: "rgb, and nothing else." },
  pixel_dtype: { const: "uint8", description: "uint8, and nothing else." },
});
