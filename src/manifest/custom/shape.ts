/** Stage 3 of a custom type: the keys of the body, each read by itself (SPEC sections 2.2 to 2.5). */
import * as allowed from "../../api/robot-terms.ts";
import { BOUNDS, NAME } from "../../api/robot-terms.ts";
import { CATALOG_ROWS } from "../catalog/rows.ts";
import { described, fail, type Reader, wrongType } from "../../documents/fields.ts";
import { keysReader, optional, required, withDefault } from "../../documents/keys.ts";
import { nearest } from "../../documents/nearest.ts";
import {
  boolean,
  type Count,
  integer,
  isRepeated,
  list,
  number,
  oneOf,
  string,
  text,
} from "../../documents/readers.ts";
import { shown } from "../../documents/shown.ts";
import { scalarType } from "../../documents/tree.ts";
import type { Camera, Group, Limits, Normalized, Pair, Scalars, Valued } from "./body.ts";

const name: Reader<string> = described({ type: "string", pattern: NAME.source }, (place) => {
  const written = string(place);
  if (written === undefined || NAME.test(written)) return written;
  return fail(place, "name_format", () => `${shown(written)} is not a name: lower-case letters, digits and _ only`);
});

const magnitude = number({ minimum: -BOUNDS.magnitude, maximum: BOUNDS.magnitude });
const positive = number({ above: 0, maximum: BOUNDS.magnitude });

/** A number, or a list of numbers, all above 0. */
const positives: Reader<Scalars> = described(
  { anyOf: [positive.schema, { type: "array", items: positive.schema }] },
  (place) => {
    if (place.node.kind === "sequence") return list(null, valued(positive))(place);
    if (place.node.kind === "scalar" && scalarType(place.node) === "number") return positive(place);
    return wrongType(place, "a number or a list of numbers");
  },
);

const ENDLESS = "; for a joint that turns without end write {continuous: true} in place of [low, high]";
const bound = number({ minimum: -BOUNDS.magnitude, maximum: BOUNDS.magnitude }, ENDLESS);
const numbers = list({ minimum: 2, maximum: 2 }, bound);
const continuous = keysReader(
  { continuous: required(boolean, "true: the joint turns without end, and has no limits.") },
  ({ continuous }, place): Pair | undefined => {
    if (continuous === false) return fail(place, "not_allowed", "false: write [low, high] instead");
    return continuous === undefined ? undefined : [-Infinity, Infinity];
  },
);
const pair: Reader<Pair> = described({ anyOf: [numbers.schema ?? {}, continuous.schema ?? {}] }, (place) => {
  if (place.node.kind === "mapping") return continuous(place);
  const [low, high] = numbers(place) ?? [];
  return low === undefined || high === undefined ? undefined : [low, high];
});

const rightAngle: Reader<Camera["rotation_degrees"]> = described({ enum: [...allowed.ROTATION_DEGREES] }, (place) => {
  const written = magnitude(place);
  const degrees = allowed.ROTATION_DEGREES.find((degrees) => degrees === written);
  if (written === undefined || degrees !== undefined) return degrees;
  return fail(place, "not_allowed", `${written} is not one of ${allowed.ROTATION_DEGREES.join(", ")}`);
});

const limits: Reader<Limits> = keysReader(
  {
    unit: optional(
      valued(oneOf(...allowed.UNITS)),
      "Unit of these limits, where it is not that of the group. Joints only.",
    ),
    position: optional(
      valued(list(null, valued(pair))),
      "[low, high] for each element, in element order; {continuous: true} for a joint that turns without end.",
    ),
    velocity: optional(valued(positives), "Units a second: one number for all elements, or a list."),
  },
  (values) => values,
);

const aperture = keysReader(
  { closed: required(magnitude, "Value of a closed gripper."), open: required(magnitude, "Value of an open gripper.") },
  ({ closed, open }) => (closed === undefined || open === undefined ? undefined : { closed, open }),
);

const normalized = keysReader(
  {
    full_scale: required(valued(positives), "In the group's unit: one number for all elements, or a list."),
    per: required(oneOf(...allowed.PERIODS), "Whether full_scale is per step or per second."),
  },
  ({ full_scale: fullScale, per }): Normalized | undefined =>
    fullScale === undefined || per === undefined ? undefined : { full_scale: fullScale, per },
);

const GROUP = {
  name: required(valued(name), "A name with the word left or right also gives the side."),
  kind: optional(valued(oneOf(...allowed.KINDS)), "torso: also a lift or rail."),
  side: optional(valued(oneOf(...allowed.SIDES)), "As seen from behind the robot. Default: from the name."),
  elements: optional(valued(uniqueTexts(BOUNDS.elements, name)), "Names in the driver's order."),
  unit: optional(
    valued(oneOf(...allowed.UNITS)),
    "What the driver counts in. calibrated_range: −100 to 100 over the calibrated travel. counts: of an encoder.",
  ),
  angle_unit: optional(
    valued(oneOf(...allowed.ANGLE_UNITS)),
    "Unit of a base's theta and of an end effector's rotation. Default: rad.",
  ),
  counts_per_turn: optional(valued(positive), "Of joints in counts: how many a whole turn has."),
  zero: optional(
    valued(oneOf(...allowed.ZEROS)),
    "Where 0 is: of the URDF, of the driver, or the middle of the calibrated travel.",
  ),
  state: optional(
    valued(uniqueTexts(BOUNDS.state, oneOf(...allowed.STATE_QUANTITIES))),
    "What is observed. []: nothing.",
  ),
  action: optional(valued(oneOf(...allowed.ACTIONS)), "What is commanded. none: nothing."),
  limits: optional(valued(limits), "How far and how fast each element may move."),
  aperture: optional(valued(aperture), "Native values of a gripper that is closed and of one that is open."),
  normalized: optional(
    valued(normalized),
    "Commands are unitless in −1 to 1; 1 means full_scale, per step or per second.",
  ),
  frame: optional(valued(text(BOUNDS.text)), "The end effector's frame."),
  rotation: optional(valued(oneOf(...allowed.ROTATIONS)), "How an end effector's rotation is written."),
  rotation_frame: optional(
    valued(text(BOUNDS.text)),
    "What an end effector's rotation is relative to, where that is not the robot's base.",
  ),
};

const group = keysReader(GROUP, ({ name, ...keys }, { path, node: { offset } }): Group | undefined =>
  name === undefined ? undefined : { path, offset, name, ...keys },
);

const CAMERA = {
  role: required(valued(name), "Name of the camera for the policy: top, left, front, wrist, …"),
  mount: required(oneOf(...allowed.MOUNTS), "What it moves with."),
  side: optional(valued(oneOf(...allowed.SIDES)), "Of a wrist camera. Default: from the role."),
  width: required(integer(BOUNDS.image_size_px), "Pixels of the image as sent."),
  height: required(integer(BOUNDS.image_size_px), "Pixels of the image as sent."),
  fps: required(valued(number(BOUNDS.fps)), "Frames a second that are really delivered."),
  rotation_degrees: withDefault(rightAngle, 0, "Clockwise turn applied before sending."),
  color_space: withDefault(oneOf("rgb"), "rgb", "rgb, and nothing else."),
  pixel_dtype: withDefault(oneOf("uint8"), "uint8", "uint8, and nothing else."),
};

const camera = keysReader(CAMERA, ({ role, ...keys }, { path, node: { offset } }) =>
  role === undefined ? undefined : { path, offset, role, ...keys },
);

const roles = unique(BOUNDS.cameras, camera, ({ role }) => role);
const cameras: Reader<readonly Camera[]> = described(roles.schema ?? {}, (place) =>
  roles(place)?.flatMap(({ mount, width, height, fps, ...keys }) => {
    if (mount === undefined || width === undefined || height === undefined || fps === undefined) return [];
    return [{ mount, width, height, fps, ...keys }];
  }),
);

const BASES = CATALOG_ROWS.map(({ robot_type_id: robotTypeId }) => robotTypeId);

const baseId: Reader<string> = described({ enum: BASES }, (place) => {
  const written = string(place);
  if (written === undefined || BASES.includes(written)) return written;
  const near = nearest(written, BASES);
  const hint = near === undefined ? "" : `; did you mean ${near}?`;
  return fail(place, "extends_unknown", `no catalog type ${shown(written)}${hint}`);
});

export const BODY = {
  extends: optional(
    valued(baseId),
    "Catalog type to start from; write only what differs. robot-policy-agent catalog ID shows it.",
  ),
  topology: optional(
    valued(oneOf(...allowed.TOPOLOGIES)),
    "single_arm, bimanual, or mobile_manipulator where there is a base.",
  ),
  action_semantics: optional(
    valued(oneOf(...allowed.ACTION_SEMANTICS)),
    "What a command of the policy means to the arms or end effectors.",
  ),
  gripper: optional(
    valued(oneOf(...allowed.GRIPPERS)),
    "binary: open from aperture 0.5. Default: continuous if a gripper is commanded.",
  ),
  control_rate_hz: optional(
    valued(number(BOUNDS.control_rate_hz)),
    "Commands a second that the robot takes from the policy.",
  ),
  groups: optional(
    valued(unique(BOUNDS.groups, group, (group) => group.name)),
    "Vector elements that share a unit. Their order is the order of the vectors: the driver's, never sorted.",
  ),
  cameras: optional(valued(cameras), "What the policy sees."),
};

function valued<T>(reader: Reader<T>): Reader<Valued<T>> {
  return described(reader.schema ?? {}, (place) => {
    const value = reader(place);
    return value === undefined ? undefined : { value, path: place.path, offset: place.node.offset };
  });
}

/** A list of items with different names; those whose name was used before are left out. */
function unique<T>(count: Count, reader: Reader<T>, nameOf: (item: T) => Valued<string>): Reader<readonly T[]> {
  return described(list(count, reader).schema ?? {}, (place) => {
    const seen = new Map<string, number>();
    const newItem: Reader<T> = (item) => {
      const read = reader(item);
      if (read === undefined) return undefined;
      const { value, path, offset } = nameOf(read);
      return isRepeated({ node: { offset }, path, check: item.check }, value, seen) ? undefined : read;
    };
    return list(count, newItem)(place);
  });
}

function uniqueTexts<T extends string>(count: Count, reader: Reader<T>): Reader<readonly Valued<T>[]> {
  const texts = unique(count, valued(reader), (text) => text);
  return described({ ...texts.schema, uniqueItems: true }, texts);
}
