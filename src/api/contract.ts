/** The normalized contract of a custom robot type, version 1 (robot manifest v1, sections 7 and 8): how a robot is built and driven. */
import * as z from "zod";

import * as terms from "./robot-terms.ts";
import { BOUNDS, CONTRACT_SCHEMA, NAME, TYPE_ID } from "./robot-terms.ts";
import { text } from "./wire/text.ts";

const TYPE_ID_LENGTH = { minimum: 1, maximum: 256 } as const;
// oxlint-disable-next-line no-control-regex -- what it keeps out; JSON Schema has no word for it that every language knows
const PRINTABLE = /^[^\u0000-\u001f\u007f-\u009f]*$/;

/** Quantities that can be measured or commanded, with their canonical units. */
const UNITS = {
  position: ["rad", "m", "1"],
  velocity: ["rad/s", "m/s"],
  effort: ["N.m", "N"],
  delta: ["rad", "m"],
} as const;
const AXIS_UNITS = ["rad", "m", "rad/s", "m/s", "N.m", "N", "1"] as const;
const STATE_AXIS_NAME = /^[a-z][a-z0-9_]{0,63}\.[a-z][a-z0-9_]{0,63}\.(?:position|velocity|effort)$/;
const ACTION_AXIS_NAME = /^[a-z][a-z0-9_]{0,63}\.[a-z][a-z0-9_]{0,63}\.(?:position|velocity|delta)$/;

const nameSchema = text({ pattern: NAME });
const printableSchema = text({ minimum: 1, maximum: BOUNDS.text, pattern: PRINTABLE });
const sideSchema = z.enum(["left", "right"]).optional();
/** Not `z.int()`: the service reads that leniently and accepts `"640"`. */
const imageSizeSchema = z.number().min(BOUNDS.image_size_px.minimum).max(BOUNDS.image_size_px.maximum).multipleOf(1);

const groupSchema = z.strictObject({
  name: nameSchema,
  kind: z.enum(terms.KINDS),
  /** Absent if the group has no side. */
  side: sideSchema,
  zero: z.enum(terms.ZEROS).optional(),
  frame: printableSchema.optional(),
  rotation: z.enum(terms.ROTATIONS).optional(),
  rotation_frame: printableSchema.optional(),
});

const axisMembers = {
  unit: z.enum(AXIS_UNITS),
  range: z
    .tuple([z.number(), z.number()])
    .refine(([low, high]) => low < high, "the first number must be below the second")
    .optional(),
  /** Conversion from the robot's native units: canonical = scale × native + offset. Absent if they are the same. */
  native: z
    .strictObject({
      unit: z.enum([...terms.UNITS, ...terms.RATE_UNITS, "normalized"]),
      scale: z.number().refine((scale) => scale !== 0, "0 makes every number the same"),
      offset: z.number(),
    })
    .optional(),
};

/** Names are `<group>.<element>.<quantity>`. */
const stateAxisSchema = z.strictObject({ name: text({ pattern: STATE_AXIS_NAME }), ...axisMembers });

const actionAxisSchema = z.strictObject({
  name: text({ pattern: ACTION_AXIS_NAME }),
  ...axisMembers,
  /** Largest change of a position in one control period. */
  max_step: z.number().positive().optional(),
});

const cameraSchema = z.strictObject({
  role: nameSchema,
  mount: z.enum(terms.MOUNTS),
  side: sideSchema,
  width: imageSizeSchema,
  height: imageSizeSchema,
  fps: z.number().gt(BOUNDS.fps.above).max(BOUNDS.fps.maximum),
  rotation_degrees: z.literal(terms.ROTATION_DEGREES),
  color_space: z.literal("rgb"),
  pixel_dtype: z.literal("uint8"),
});

/** Members without a value are absent, never null. Numbers are read strictly, because they move a robot. */
export const robotContractSchema = z
  .strictObject({
    schema: z.literal(CONTRACT_SCHEMA),
    robot_type_id: text({ ...TYPE_ID_LENGTH, pattern: TYPE_ID }).describe("Same as robot_type_id of the request."),
    display_name: printableSchema.optional(),
    topology: z.enum(terms.TOPOLOGIES),
    action_semantics: z.enum(terms.ACTION_SEMANTICS),
    gripper: z.enum(terms.GRIPPERS),
    control_rate_hz: z.number().gt(BOUNDS.control_rate_hz.above).max(BOUNDS.control_rate_hz.maximum),
    groups: z.array(groupSchema).min(BOUNDS.groups.minimum).max(BOUNDS.groups.maximum),
    state_axes: z.array(stateAxisSchema).min(BOUNDS.axes.minimum).max(BOUNDS.axes.maximum).describe("In vector order."),
    action_axes: z
      .array(actionAxisSchema)
      .min(BOUNDS.axes.minimum)
      .max(BOUNDS.axes.maximum)
      .describe("In vector order."),
    cameras: z.array(cameraSchema).min(BOUNDS.cameras.minimum).max(BOUNDS.cameras.maximum),
  })
  .superRefine((contract, { addIssue }) => {
    for (const { path, message } of contradictions(contract)) addIssue({ code: "custom", path: [...path], message });
  })
  .meta({
    id: "RobotContract",
    description:
      "Structure and control interface of a custom robot type. Names of groups, axes and cameras are unique. The name of an axis is <group>.<element>.<quantity>, with a group of the contract.",
  });

export type RobotContract = Immutable<z.output<typeof robotContractSchema>>;

/** Other contracts are stored unchanged: the service document defines no structure for them. */
export const otherContractSchema = z
  .record(z.string(), z.unknown())
  .refine((contract) => contract["schema"] !== CONTRACT_SCHEMA, `a contract of ${CONTRACT_SCHEMA} must be one`)
  .meta({ properties: { schema: { not: { const: CONTRACT_SCHEMA } } } })
  .meta({ id: "OtherContract", description: "A contract of any other kind, stored unchanged." });

/** A contract with our schema name is validated; any other is stored unchanged. */
export const sentContractSchema = z.union([robotContractSchema, otherContractSchema]);

interface TypeAndContract {
  readonly robot_type_id?: string | null | undefined;
  readonly contract?: z.output<typeof sentContractSchema> | null | undefined;
}

/** Whether the contract of a request, if it is one of ours, is for the robot type of the request. */
export function isContractOfType({ robot_type_id: robotTypeId, contract }: TypeAndContract): boolean {
  return contract?.["schema"] !== CONTRACT_SCHEMA || contract["robot_type_id"] === robotTypeId;
}

export type Immutable<T> = T extends object ? { readonly [member in keyof T]: Immutable<T[member]> } : T;

interface Contradiction {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Rules that involve several members. */
function contradictions({
  groups,
  state_axes: stateAxes,
  action_axes: actionAxes,
  cameras,
}: RobotContract): readonly Contradiction[] {
  const names = groups.map(({ name }) => name);
  const roles = cameras.map(({ role }) => role);
  return [
    ...repetitions(names, (index) => ["groups", index, "name"]),
    ...vectorContradictions("state_axes", stateAxes, names),
    ...vectorContradictions("action_axes", actionAxes, names),
    ...repetitions(roles, (index) => ["cameras", index, "role"]),
  ];
}

type Axis = RobotContract["state_axes"][number];

function vectorContradictions(
  vector: "state_axes" | "action_axes",
  axes: readonly Axis[],
  groups: readonly string[],
): readonly Contradiction[] {
  const names = axes.map(({ name }) => name);
  return [
    ...repetitions(names, (index) => [vector, index, "name"]),
    ...axes.flatMap(({ name, unit }, index) => {
      const [group = "", , quantity = ""] = name.split(".");
      const units: readonly string[] = isQuantity(quantity) ? UNITS[quantity] : [];
      const unknown = { path: [vector, index, "name"], message: `no group is called ${group}` };
      const unfit = { path: [vector, index, "unit"], message: `a ${quantity} is in ${units.join(" or ")}` };
      return [...(groups.includes(group) ? [] : [unknown]), ...(units.includes(unit) ? [] : [unfit])];
    }),
  ];
}

function isQuantity(quantity: string): quantity is keyof typeof UNITS {
  return Object.hasOwn(UNITS, quantity);
}

/** A contradiction for each name that occurs earlier in the list. */
function repetitions(
  names: readonly string[],
  pathOf: (index: number) => Contradiction["path"],
): readonly Contradiction[] {
  return names.flatMap((name, index) => {
    const first = names.indexOf(name);
    return first === index ? [] : [{ path: pathOf(index), message: `${name} is the name at index ${first} already` }];
  });
}
