import type { CatalogRow } from "../../manifest/catalog.ts";
import { catalogAxes } from "../../manifest/catalog-axes.ts";
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

/**
 * The part of a contract that checkpoints judge a robot by: itself a contract, which `contractEquipment` reads like the whole one. Robots
 * that differ in nothing else, such as serial numbers, have the same.
 */
export function judgedPart(contract: Json): string {
  const { camera_roles, state_axes, action_axes } = contractEquipment(contract);
  return JSON.stringify({ cameras: camera_roles?.map((role) => ({ role })), state_axes, action_axes });
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
  const { state, action } = catalogAxes(row);
  return {
    camera_roles: row.cameras === "user" ? null : row.cameras.map(({ role }) => role),
    state_axes: state.map(nameAndUnit),
    action_axes: action.map(nameAndUnit),
  };
}

function nameAndUnit({ name, unit }: Axis): Axis {
  return { name, unit };
}

/** Made once, and last, because it is made with what stands above. */
const EQUIPMENT_BY_TYPE: ReadonlyMap<string, Equipment> = new Map(
  CATALOG_ROWS.map((row) => [row.robot_type_id, equipmentOf(row)]),
);
