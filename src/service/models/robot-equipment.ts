import type { CatalogGroup, CatalogRow } from "../../manifest/catalog.ts";
import { CATALOG_ROWS } from "../../manifest/catalog-rows.ts";
import type { Json, JsonObject } from "../json/parse-json.ts";

/** One element of a state or action vector. */
export interface Axis {
  /** `group.element.quantity`. */
  readonly name: string;
  /** Canonical, such as `rad/s`; null where a contract does not say. */
  readonly unit: string | null;
}

/** What a robot has to see, feel and act with. Null is unknown, not none. */
export interface Equipment {
  readonly camera_roles: readonly string[] | null;
  readonly state_axes: readonly Axis[] | null;
  readonly action_axes: readonly Axis[] | null;
}

const UNKNOWN: Equipment = { camera_roles: null, state_axes: null, action_axes: null };

/** What the ready catalog says of a type; nothing of a type it does not have. */
export function catalogEquipment(robot_type_id: string): Equipment {
  return EQUIPMENT_BY_TYPE.get(robot_type_id) ?? UNKNOWN;
}

/**
 * What a contract says. It speaks for the whole robot: what it does not name is not there.
 *
 * @param contract any JSON; members that are not of a contract's shape are passed over.
 */
export function contractEquipment(contract: Json): Equipment {
  return {
    camera_roles: objectsIn(contract, "cameras").flatMap((camera) => textsOf(camera.get("role"))),
    state_axes: axesIn(contract, "state_axes"),
    action_axes: axesIn(contract, "action_axes"),
  };
}

function axesIn(contract: Json, member: string): readonly Axis[] {
  return objectsIn(contract, member).flatMap((axis) => {
    const [unit = null] = textsOf(axis.get("unit"));
    return textsOf(axis.get("name")).map((name) => ({ name, unit }));
  });
}

function objectsIn(value: Json, member: string): readonly JsonObject[] {
  const items = isObject(value) ? value.get(member) : undefined;
  return Array.isArray(items) ? items.filter(isObject) : [];
}

function textsOf(value: Json | undefined): readonly string[] {
  return typeof value === "string" ? [value] : [];
}

function isObject(value: Json): value is JsonObject {
  return value instanceof Map;
}

function equipmentOf(row: CatalogRow): Equipment {
  return {
    camera_roles: row.cameras === "user" ? null : row.cameras.map(({ role }) => role),
    state_axes: row.groups.flatMap((group) =>
      (group.state ?? [observedQuantity(group)]).flatMap((quantity) => axesOf(group, quantity)),
    ),
    action_axes: row.groups.flatMap((group) => {
      const quantity = group.action ?? commandedQuantity(group, row);
      return quantity === "none" ? [] : axesOf(group, quantity);
    }),
  };
}

type Quantity = "position" | "velocity" | "effort" | "delta";

function axesOf(group: CatalogGroup, quantity: Quantity): readonly Axis[] {
  return elementsOf(group).map((element) => ({
    name: `${group.name}.${element}.${quantity}`,
    unit: UNITS[quantity][dimensionOf(group, element)],
  }));
}

/** Robot manifest, section 2.4: what is observed unless a group says otherwise. */
function observedQuantity({ kind }: CatalogGroup): Quantity {
  return kind === "base" ? "velocity" : "position";
}

/** Robot manifest, section 2.4: limbs act as the robot's action semantics say, everything else in its own way. */
function commandedQuantity({ kind }: CatalogGroup, { action_semantics }: CatalogRow): Quantity | "none" {
  switch (kind) {
    case "arm":
      if (action_semantics === "joint_position") return "position";
      return action_semantics === "joint_velocity" ? "velocity" : "none";
    case "eef":
      if (action_semantics === "eef_absolute") return "position";
      return action_semantics === "eef_delta" ? "delta" : "none";
    case "base":
      return "velocity";
    case "gripper":
    case "hand":
    case "head":
    case "torso":
    case "leg":
      return "position";
  }
}

const ROTATION_ELEMENTS = {
  euler_xyz: ["roll", "pitch", "yaw"],
  rotvec: ["rx", "ry", "rz"],
  quat_xyzw: ["qx", "qy", "qz", "qw"],
  rot6d: ["r1", "r2", "r3", "r4", "r5", "r6"],
  none: [],
} as const;

function elementsOf({ kind, elements, rotation }: CatalogGroup): readonly string[] {
  if (elements !== undefined) return elements;
  if (kind === "gripper") return ["gripper"];
  if (kind === "base") return ["x", "y", "theta"];
  return kind === "eef" ? ["x", "y", "z", ...ROTATION_ELEMENTS[rotation ?? "none"]] : [];
}

type Dimension = "angle" | "length" | "none";

/** Robot manifest, section 7.3: what each unit becomes in a contract. */
const UNITS: Readonly<Record<Quantity, Readonly<Record<Dimension, string>>>> = {
  position: { angle: "rad", length: "m", none: "1" },
  velocity: { angle: "rad/s", length: "m/s", none: "1" },
  effort: { angle: "N.m", length: "N", none: "1" },
  delta: { angle: "rad", length: "m", none: "1" },
};

const ANGLES: ReadonlySet<string> = new Set(["theta", "roll", "pitch", "yaw", "rx", "ry", "rz"]);
const LENGTHS: ReadonlySet<string> = new Set(["x", "y", "z"]);

function dimensionOf({ kind, unit }: CatalogGroup, element: string): Dimension {
  if (kind === "gripper") return "none";
  if (kind === "base" || kind === "eef") {
    if (ANGLES.has(element)) return "angle";
    return LENGTHS.has(element) ? "length" : "none";
  }
  if (unit === "rad" || unit === "deg") return "angle";
  return unit === "m" || unit === "mm" ? "length" : "none";
}

/** Made once, and last, because it is made with what stands above. */
const EQUIPMENT_BY_TYPE: ReadonlyMap<string, Equipment> = new Map(
  CATALOG_ROWS.map((row) => [row.robot_type_id, equipmentOf(row)]),
);
