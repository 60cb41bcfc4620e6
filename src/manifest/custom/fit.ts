/** Stage 5 of a custom type: checks each group and camera against its kind, unit and name (SPEC sections 2.4, 2.5). */
import type { FindingList } from "../../documents/finding-list.ts";
import type { Camera, Group, Spot, Unit, Valued } from "./body.ts";
import { actionOf, boundedElements, elementsOf, sideInName, spotOfKey } from "./group.ts";
import { BASE_ELEMENTS, kindRules } from "./kinds.ts";
import type { CompleteGroup, Robot } from "./robot.ts";
import { conversion, hasDimension, isConvertible } from "./units.ts";

const KEYS_BY_KIND = [
  "elements",
  "unit",
  "angle_unit",
  "counts_per_turn",
  "zero",
  "aperture",
  "frame",
  "rotation",
  "rotation_frame",
] as const;

/** Checks every group and camera by itself. */
export function checkFit(robot: Robot, findings: FindingList): void {
  for (const group of robot.groups.value) {
    const check: GroupCheck = { group, robot, findings, rules: kindRules(group.kind.value) };
    checkKeys(check);
    checkUnit(check);
    checkQuantities(check);
    checkElements(check);
    checkRequired(check);
    checkCounts(check);
    checkSide(group, group.name.value, findings);
  }
  for (const camera of robot.cameras) checkCamera(camera, findings);
}

interface GroupCheck {
  readonly group: CompleteGroup;
  readonly robot: Robot;
  readonly findings: FindingList;
  readonly rules: ReturnType<typeof kindRules>;
}

function checkKeys({ group, robot, findings, rules }: GroupCheck): void {
  const kind = group.kind.value;
  const refuse = (key: string, spot: Spot, reason: string) =>
    findings.error("not_applicable", spot.path, spot.offset, `${key} does not apply to ${reason}`);
  for (const key of KEYS_BY_KIND) {
    const spot = group[key];
    if (spot !== undefined && !rules.keys.includes(key)) refuse(key, spot, `a ${kind}`);
  }
  const unit = unitOf(group, rules.units);
  if (group.zero !== undefined && rules.keys.includes("zero") && unit !== undefined && !hasDimension(unit)) {
    refuse("zero", group.zero, `unit ${unit}`);
  }
  if (group.counts_per_turn !== undefined && rules.isJoint && unit !== undefined && unit !== "counts") {
    refuse("counts_per_turn", group.counts_per_turn, `unit ${unit}`);
  }
  if (group.rotation_frame !== undefined && group.rotation?.value === "none") {
    refuse("rotation_frame", group.rotation_frame, "an end effector without rotation");
  }
  const action = actionOf(group, robot.action_semantics.value);
  if (group.normalized !== undefined && (action === "position" || action === "none")) {
    refuse("normalized", group.normalized, action === "none" ? "a group that is not commanded" : "a position action");
  }
  const limits = group.limits?.value;
  const limitUnit = limits?.unit?.value ?? unit;
  const isAngle = rules.isJoint && limitUnit !== undefined && conversion(limitUnit).canonical === "rad";
  for (const spot of isAngle ? [] : (limits?.position?.value ?? [])) {
    if (!Number.isFinite(spot.value[0])) refuse("continuous", spot, "what is no angle of a joint");
  }
  if (limits?.unit !== undefined && !rules.isJoint) refuse("limits.unit", limits.unit, `a ${kind}`);
  if (limits?.position !== undefined && (kind === "gripper" || kind === "base")) {
    refuse("limits.position", limits.position, `a ${kind}`);
  }
}

/** The unit if its kind allows it. Rules on zero and dimensions apply to no other unit. */
function unitOf({ unit }: Group, units: readonly Unit[]): Unit | undefined {
  return unit !== undefined && units.includes(unit.value) ? unit.value : undefined;
}

function checkUnit({ group, robot, findings, rules }: GroupCheck): void {
  const { unit, limits, state } = group;
  if (unit === undefined) return;
  if (!rules.units.includes(unit.value)) {
    const message = `${unit.value} is not a unit of ${group.kind.value}; use ${rules.units.join(", ")}`;
    findings.error("unit_kind", unit.path, unit.offset, message);
    return;
  }
  const limitUnit = limits?.value.unit;
  if (rules.isJoint && limitUnit !== undefined && !isConvertible(limitUnit.value, unit.value)) {
    refuseConversion(findings, limitUnit, limitUnit.value, unit.value);
  }
  if (!rules.isJoint || hasDimension(unit.value)) return;
  for (const quantity of state?.value ?? []) {
    if (quantity.value !== "position") refuseConversion(findings, quantity, unit.value, `a ${quantity.value}`);
  }
  if (actionOf(group, robot.action_semantics.value) === "velocity") {
    refuseConversion(findings, spotOfKey(group, "action", group.action), unit.value, "a velocity");
  }
}

function refuseConversion(findings: FindingList, { path, offset }: Spot, from: string, to: string): void {
  findings.error("unit_unconvertible", path, offset, `${from} cannot be converted to ${to}`);
}

function checkQuantities({ group, robot, findings, rules }: GroupCheck): void {
  const kind = group.kind.value;
  const refuse = ({ path, offset }: Spot, quantity: string, whose: string) =>
    findings.error("quantity_kind", path, offset, `${quantity} is not a quantity of ${whose}`);
  for (const quantity of group.state?.value ?? []) {
    if (!rules.state.includes(quantity.value)) refuse(quantity, quantity.value, `${kind} state`);
  }
  const action = actionOf(group, robot.action_semantics.value);
  const spot = spotOfKey(group, "action", group.action);
  if (!rules.actions.includes(action)) refuse(spot, action, `${kind} action`);
  const rotation = group.rotation?.value;
  const cannotAdd = rotation === "quat_xyzw" || rotation === "rot6d";
  if (kind === "eef" && action === "delta" && cannotAdd) refuse(spot, action, `a rotation written as ${rotation}`);
}

function checkElements({ group, findings }: GroupCheck): void {
  if (group.kind.value !== "base") return;
  for (const { value, path, offset } of group.elements?.value ?? []) {
    if (BASE_ELEMENTS.some((element) => element === value)) continue;
    findings.error("element_kind", path, offset, `${value} is not a base element; use ${BASE_ELEMENTS.join(", ")}`);
  }
}

function checkRequired({ group, findings, rules }: GroupCheck): void {
  const require = (
    id: string,
    key: "zero" | "aperture" | "frame" | "rotation" | "counts_per_turn",
    message: string,
  ) => {
    if (group[key] !== undefined) return;
    const { path, offset } = spotOfKey(group, key, undefined);
    findings.error(id, path, offset, message);
  };
  const unit = unitOf(group, rules.units);
  if (rules.isJoint && unit !== undefined && hasDimension(unit)) {
    require("zero_missing", "zero", "say where zero is: urdf, driver or calibrated_mid");
  }
  if (rules.isJoint && unit === "counts") {
    require("counts_missing", "counts_per_turn", "say how many counts a whole turn of the joint has");
  }
  if (group.kind.value === "gripper") {
    const message = "say which native value is closed and which is open; conventions differ";
    require("aperture_missing", "aperture", message);
  }
  if (group.kind.value === "eef") {
    require("eef_frame_missing", "frame", "name the end-effector frame");
    require("eef_rotation_missing", "rotation", "name the rotation representation");
  }
}

/** Lists in limits and full scale have one entry per element. An end effector's number of elements depends on its rotation. */
function checkCounts({ group, findings }: GroupCheck): void {
  const kind = group.kind.value;
  if (kind === "eef" && group.rotation === undefined) return;
  const expect = (list: Valued<unknown> | undefined, expected: number) => {
    if (list === undefined) return;
    const found = Array.isArray(list.value) ? list.value.length : 1;
    if (Array.isArray(list.value) && found === expected) return;
    const message = `expected ${expected} entries in element order, found ${found}`;
    findings.error("limits_length", list.path, list.offset, message);
  };
  const limits = group.limits?.value;
  if (kind !== "gripper" && kind !== "base") expect(limits?.position, kind === "eef" ? 3 : elementsOf(group).length);
  const count = boundedElements(group).length;
  const needsList = kind === "base" || kind === "eef";
  if (needsList || typeof limits?.velocity?.value !== "number") expect(limits?.velocity, count);
  const fullScale = group.normalized?.value.full_scale;
  if (typeof fullScale?.value !== "number") expect(fullScale, count);
}

function checkCamera(camera: Camera, findings: FindingList): void {
  if (camera.side === undefined) return;
  if (camera.mount === "wrist") {
    checkSide(camera, camera.role.value, findings);
    return;
  }
  const { path, offset } = camera.side;
  findings.error("not_applicable", path, offset, `side does not apply to a camera with mount ${camera.mount}`);
}

function checkSide({ side }: Pick<Group, "side">, name: string, findings: FindingList): void {
  const named = sideInName(name);
  if (side === undefined || named === undefined || side.value === named) return;
  findings.error("side_conflict", side.path, side.offset, `${name} has side ${side.value}`);
}
