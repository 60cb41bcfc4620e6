import { shown } from "../../manifest/shown.ts";
import type { Axis, Equipment } from "../robots/index.ts";
import { catalogEquipment } from "../robots/index.ts";
import type { AxesRequirement, Requirements } from "./requirements.ts";

/** The properties of a robot that requirements are compared with. */
export interface RobotTraits {
  readonly robot_type_id: string;
  /** What its contract says; null for a robot that registered by its type alone. */
  readonly equipment: Equipment | null;
}

/** Maximum number of names in a sentence; of the others it gives only the number. */
const LISTED_NAMES = 8;

/**
 * Why a checkpoint cannot drive a robot, or null if it can.
 *
 * Requirements are compared with the robot's contract, or, without one, with its type in the ready catalog. What is unknown, such as
 * the cameras of a type whose installer chooses them, counts as satisfied.
 *
 * @returns one sentence for a person that names what is missing: type, else cameras, else axes. Its length is bounded for every
 * contract.
 */
export function incompatibility(robot: RobotTraits, requirements: Requirements): string | null {
  const { robot_type_id: robotTypeId } = robot;
  const equipment = robot.equipment ?? catalogEquipment(robotTypeId);
  return (
    lackOfType(robotTypeId, requirements.robot_types) ??
    lackOfCameras(equipment.camera_roles, requirements.camera_roles) ??
    lackOfAxes("state", equipment.state_axes, requirements.state_axes) ??
    lackOfAxes("action", equipment.action_axes, requirements.action_axes)
  );
}

function lackOfType(robotTypeId: string, accepted: readonly string[]): string | null {
  if (accepted.length === 0 || accepted.includes(robotTypeId)) return null;
  return `needs a robot of type ${list(accepted, "or")}; the robot is ${shown(robotTypeId)}`;
}

function lackOfCameras(present: readonly string[] | null, needed: readonly string[]): string | null {
  if (present === null) return null;
  const roles = new Set(present);
  const missing = needed.filter((role) => !roles.has(role));
  if (missing.length === 0) return null;
  const wanted = missing.length === 1 ? "a camera with role" : "cameras with roles";
  return `needs ${wanted} ${list(missing, "and")}; the robot has ${present.length === 0 ? "none" : list(present)}`;
}

function lackOfAxes(vector: "state" | "action", axes: readonly Axis[] | null, needed: AxesRequirement | null) {
  if (axes === null || needed === null) return null;
  return (
    lackOfCount(vector, axes.length, needed) ?? lackOfNames(vector, axes, needed) ?? lackOfUnits(vector, axes, needed)
  );
}

function lackOfCount(
  vector: string,
  count: number,
  { minimum_count: minimumCount, maximum_count: maximumCount }: AxesRequirement,
): string | null {
  if (count >= minimumCount && (maximumCount === null || count <= maximumCount)) return null;
  const noun = minimumCount === 1 && maximumCount === 1 ? "axis" : "axes";
  return `needs ${describeCount(minimumCount, maximumCount)} ${vector} ${noun}; the robot has ${count}`;
}

function describeCount(minimum: number, maximum: number | null): string {
  if (maximum === null) return `at least ${minimum}`;
  if (minimum === maximum) return `${minimum}`;
  return minimum === 0 ? `at most ${maximum}` : `${minimum} to ${maximum}`;
}

function lackOfNames(vector: string, axes: readonly Axis[], { names }: AxesRequirement): string | null {
  const present = new Set(axes.map(({ name }) => name));
  const missing = names.filter((name) => !present.has(name));
  if (missing.length === 0) return null;
  const [noun, pronoun] = missing.length === 1 ? ["axis", "it"] : ["axes", "them"];
  return `needs the ${vector} ${noun} ${list(missing, "and")}; the robot does not have ${pronoun}`;
}

function lackOfUnits(vector: string, axes: readonly Axis[], { units }: AxesRequirement): string | null {
  if (units.length === 0) return null;
  const other = axes.find(({ unit }) => unit === null || !units.includes(unit));
  if (other === undefined) return null;
  const found = other.unit === null ? "names no unit" : `is in ${shown(other.unit)}`;
  return `needs ${vector} axes in ${list(units, "or")}; the robot's ${shown(other.name)} ${found}`;
}

/** `a, b and c`, or `a, b, c` without a word; long lists are cut. */
function list(names: readonly string[], word?: "and" | "or"): string {
  const listed = names.slice(0, LISTED_NAMES).map(shown);
  const more = names.length - listed.length;
  if (more > 0) return `${listed.join(", ")} and ${more} more`;
  const last = listed.at(-1) ?? "";
  if (word === undefined || listed.length < 2) return listed.join(", ");
  return `${listed.slice(0, -1).join(", ")} ${word} ${last}`;
}
