/** Stage 5 of a custom type: checks each group and camera against its kind, unit and name (SPEC sections 2.4, 2.5). */
import type { FindingList, Path } from "../../documents/findings.ts";
import { actionOf, boundedElements, elementsOf, sideInName } from "./group.ts";
import { BASE_ELEMENTS, kindRules } from "./kinds.ts";
import { type CompleteGroup, pathInGroup, pathOf, type Robot } from "./robot.ts";
import type { Side, Unit } from "./shape.ts";
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
  for (const group of robot.groups) {
    const check: GroupCheck = { group, robot, findings, rules: kindRules(group.kind) };
    checkKeys(check);
    checkUnit(check);
    checkQuantities(check);
    checkElements(check);
    checkRequired(check);
    checkCounts(check);
    checkSide(group.side, group.name, pathInGroup(group, "side"), findings);
  }
  for (const [index, { mount, side, role }] of robot.cameras.entries()) {
    const path = pathOf(robot, "cameras", index, "side");
    if (mount === "wrist") checkSide(side, role, path, findings);
    else if (side !== undefined) {
      findings.error("not_applicable", path, `side does not apply to a camera with mount ${mount}`);
    }
  }
}

interface GroupCheck {
  readonly group: CompleteGroup;
  readonly robot: Robot;
  readonly findings: FindingList;
  readonly rules: ReturnType<typeof kindRules>;
}

function checkKeys({ group, robot, findings, rules }: GroupCheck): void {
  const { kind, limits } = group;
  const refuse = (key: string, path: Path, reason: string) =>
    findings.error("not_applicable", path, `${key} does not apply to ${reason}`);
  for (const key of KEYS_BY_KIND) {
    if (group[key] !== undefined && !rules.keys.includes(key)) refuse(key, pathInGroup(group, key), `a ${kind}`);
  }
  const unit = unitOf(group.unit, rules.units);
  if (group.zero !== undefined && rules.keys.includes("zero") && unit !== undefined && !hasDimension(unit)) {
    refuse("zero", pathInGroup(group, "zero"), `unit ${unit}`);
  }
  if (group.counts_per_turn !== undefined && rules.isJoint && unit !== undefined && unit !== "counts") {
    refuse("counts_per_turn", pathInGroup(group, "counts_per_turn"), `unit ${unit}`);
  }
  if (group.rotation_frame !== undefined && group.rotation === "none") {
    refuse("rotation_frame", pathInGroup(group, "rotation_frame"), "an end effector without rotation");
  }
  const action = actionOf(group, robot.action_semantics);
  if (group.normalized !== undefined && (action === "position" || action === "none")) {
    const reason = action === "none" ? "a group that is not commanded" : "a position action";
    refuse("normalized", pathInGroup(group, "normalized"), reason);
  }
  const limitUnit = limits?.unit ?? unit;
  const isAngle = rules.isJoint && limitUnit !== undefined && conversion(limitUnit).canonical === "rad";
  for (const [index, [low]] of (limits?.position ?? []).entries()) {
    if (isAngle || Number.isFinite(low)) continue;
    refuse("continuous", pathInGroup(group, "limits", "position", index), "what is no angle of a joint");
  }
  if (limits?.unit !== undefined && !rules.isJoint) {
    refuse("limits.unit", pathInGroup(group, "limits", "unit"), `a ${kind}`);
  }
  if (limits?.position !== undefined && (kind === "gripper" || kind === "base")) {
    refuse("limits.position", pathInGroup(group, "limits", "position"), `a ${kind}`);
  }
}

/** The unit if its kind allows it. Rules on zero and dimensions apply to no other unit. */
function unitOf(unit: Unit | undefined, units: readonly Unit[]): Unit | undefined {
  return unit !== undefined && units.includes(unit) ? unit : undefined;
}

function checkUnit({ group, robot, findings, rules }: GroupCheck): void {
  const { kind, unit, limits, state } = group;
  if (unit === undefined) return;
  if (!rules.units.includes(unit)) {
    const message = `${unit} is not a unit of ${kind}; use ${rules.units.join(", ")}`;
    findings.error("unit_kind", pathInGroup(group, "unit"), message);
    return;
  }
  const refuse = (path: Path, from: string, to: string) =>
    findings.error("unit_unconvertible", path, `${from} cannot be converted to ${to}`);
  if (rules.isJoint && limits?.unit !== undefined && !isConvertible(limits.unit, unit)) {
    refuse(pathInGroup(group, "limits", "unit"), limits.unit, unit);
  }
  if (!rules.isJoint || hasDimension(unit)) return;
  for (const [index, quantity] of (state ?? []).entries()) {
    if (quantity !== "position") refuse(pathInGroup(group, "state", index), unit, `a ${quantity}`);
  }
  if (actionOf(group, robot.action_semantics) === "velocity") {
    refuse(pathInGroup(group, "action"), unit, "a velocity");
  }
}

function checkQuantities({ group, robot, findings, rules }: GroupCheck): void {
  const { kind, rotation } = group;
  const refuse = (path: Path, quantity: string, whose: string) =>
    findings.error("quantity_kind", path, `${quantity} is not a quantity of ${whose}`);
  for (const [index, quantity] of (group.state ?? []).entries()) {
    if (!rules.state.includes(quantity)) refuse(pathInGroup(group, "state", index), quantity, `${kind} state`);
  }
  const action = actionOf(group, robot.action_semantics);
  const path = pathInGroup(group, "action");
  if (!rules.actions.includes(action)) refuse(path, action, `${kind} action`);
  const cannotAdd = rotation === "quat_xyzw" || rotation === "rot6d";
  if (kind === "eef" && action === "delta" && cannotAdd) refuse(path, action, `a rotation written as ${rotation}`);
}

function checkElements({ group, findings }: GroupCheck): void {
  if (group.kind !== "base") return;
  for (const [index, name] of (group.elements ?? []).entries()) {
    if (BASE_ELEMENTS.some((element) => element === name)) continue;
    const message = `${name} is not a base element; use ${BASE_ELEMENTS.join(", ")}`;
    findings.error("element_kind", pathInGroup(group, "elements", index), message);
  }
}

function checkRequired({ group, findings, rules }: GroupCheck): void {
  const needKey = (
    id: string,
    key: "zero" | "aperture" | "frame" | "rotation" | "counts_per_turn",
    message: string,
  ) => {
    if (group[key] === undefined) findings.error(id, pathInGroup(group, key), message);
  };
  const unit = unitOf(group.unit, rules.units);
  if (rules.isJoint && unit !== undefined && hasDimension(unit)) {
    needKey("zero_missing", "zero", "say where zero is: urdf, driver or calibrated_mid");
  }
  if (rules.isJoint && unit === "counts") {
    needKey("counts_missing", "counts_per_turn", "say how many counts a whole turn of the joint has");
  }
  if (group.kind === "gripper") {
    const message = "say which native value is closed and which is open; conventions differ";
    needKey("aperture_missing", "aperture", message);
  }
  if (group.kind === "eef") {
    needKey("eef_frame_missing", "frame", "name the end-effector frame");
    needKey("eef_rotation_missing", "rotation", "name the rotation representation");
  }
}

/** Lists in limits and full scale have one entry per element. An end effector's number of elements depends on its rotation. */
function checkCounts({ group, findings }: GroupCheck): void {
  const { kind, limits, normalized } = group;
  if (kind === "eef" && group.rotation === undefined) return;
  const expect = (numbers: unknown, path: Path, expected: number) => {
    const found = Array.isArray(numbers) ? numbers.length : 1;
    if (numbers === undefined || (Array.isArray(numbers) && found === expected)) return;
    findings.error("limits_length", path, `expected ${expected} entries in element order, found ${found}`);
  };
  if (kind !== "gripper" && kind !== "base") {
    const count = kind === "eef" ? 3 : elementsOf(group).length;
    expect(limits?.position, pathInGroup(group, "limits", "position"), count);
  }
  const count = boundedElements(group).length;
  const needsList = kind === "base" || kind === "eef";
  if (needsList || typeof limits?.velocity !== "number") {
    expect(limits?.velocity, pathInGroup(group, "limits", "velocity"), count);
  }
  if (typeof normalized?.full_scale !== "number") {
    expect(normalized?.full_scale, pathInGroup(group, "normalized", "full_scale"), count);
  }
}

function checkSide(side: Side | undefined, name: string, path: Path, findings: FindingList): void {
  const named = sideInName(name);
  if (side === undefined || named === undefined || side === named) return;
  findings.error("side_conflict", path, `${name} has side ${side}`);
}
