/** Stage 5 of a custom type: checks each group and camera against its kind, unit and name (SPEC sections 2.4, 2.5). */
import type { FindingList, Path, PathStep } from "../../documents/findings.ts";
import {
  actionOf,
  BASE_ELEMENTS,
  boundedElements,
  type CompleteGroup,
  CONVERSIONS,
  elementsOf,
  hasDimension,
  KINDS,
  sideInName,
} from "./group.ts";
import type { Action, Group, Side, Unit } from "./keys.ts";
import { pathInGroup, pathOf, type Robot } from "./robot.ts";

/** Checks every group and camera by itself. */
export function checkFit(robot: Robot, findings: FindingList): void {
  for (const group of robot.groups) {
    const { units } = KINDS[group.kind];
    const unit = group.unit !== undefined && units.includes(group.unit) ? group.unit : undefined;
    const check = { group, unit, action: actionOf(group, robot.action_semantics), findings };
    checkKeys(check);
    checkUnit(check);
    checkQuantities(check);
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

interface FitCheck {
  readonly group: CompleteGroup;
  /** If the kind allows it: rules on zero and dimensions apply to no other unit. */
  readonly unit: Unit | undefined;
  readonly action: Action;
  readonly findings: FindingList;
}

type KeyPath = readonly [key: keyof Group, ...below: PathStep[]];

function report({ group, findings }: FitCheck, id: string, [key, ...below]: KeyPath, message: string): void {
  findings.error(id, pathInGroup(group, key, ...below), message);
}

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

/** Keys that the group has and may not have. */
function checkKeys(check: FitCheck): void {
  const { group, unit, action } = check;
  const { kind, limits } = group;
  const { isJoint, keys } = KINDS[kind];
  const isOfJoint = isJoint && unit !== undefined;
  const isUnscaled = action === "position" || action === "none";
  const limitUnit = limits?.unit ?? unit;
  const isAngle = isJoint && limitUnit !== undefined && CONVERSIONS[limitUnit].canonical === "rad";
  const refused: readonly (readonly [isRefused: boolean, path: KeyPath, whose: string])[] = [
    ...KEYS_BY_KIND.map((key) => [!keys.includes(key), [key], `a ${kind}`] as const),
    [isOfJoint && !hasDimension(unit), ["zero"], `unit ${unit}`],
    [isOfJoint && unit !== "counts", ["counts_per_turn"], `unit ${unit}`],
    [group.rotation === "none", ["rotation_frame"], "an end effector without rotation"],
    [isUnscaled, ["normalized"], action === "none" ? "a group that is not commanded" : "a position action"],
  ];
  for (const [isRefused, [key], whose] of refused) {
    if (isRefused && group[key] !== undefined)
      report(check, "not_applicable", [key], `${key} does not apply to ${whose}`);
  }
  for (const [index, [low]] of (limits?.position ?? []).entries()) {
    if (isAngle || Number.isFinite(low)) continue;
    const message = "continuous does not apply to what is no angle of a joint";
    report(check, "not_applicable", ["limits", "position", index], message);
  }
  const hasNoRange = kind === "gripper" || kind === "base";
  for (const [key, isRefused] of [
    ["unit", !isJoint],
    ["position", hasNoRange],
  ] as const) {
    if (limits?.[key] === undefined || !isRefused) continue;
    report(check, "not_applicable", ["limits", key], `limits.${key} does not apply to a ${kind}`);
  }
}

function checkUnit(check: FitCheck): void {
  const { group, unit, action } = check;
  const { kind, limits } = group;
  const { isJoint, units } = KINDS[kind];
  if (unit === undefined) {
    const message = `${group.unit} is not a unit of ${kind}; use ${units.join(", ")}`;
    if (group.unit !== undefined) report(check, "unit_kind", ["unit"], message);
    return;
  }
  if (!isJoint) return;
  const refuse = (path: KeyPath, from: string, to: string) =>
    report(check, "unit_unconvertible", path, `${from} cannot be converted to ${to}`);
  if (limits?.unit !== undefined && !isConvertible(limits.unit, unit)) refuse(["limits", "unit"], limits.unit, unit);
  if (hasDimension(unit)) return;
  for (const [index, quantity] of (group.state ?? []).entries()) {
    if (quantity !== "position") refuse(["state", index], unit, `a ${quantity}`);
  }
  if (action === "velocity") refuse(["action"], unit, "a velocity");
}

/** Only a group in counts says how many a turn has. */
function isConvertible(from: Unit, to: Unit): boolean {
  if (from === "counts" && to !== "counts") return false;
  return CONVERSIONS[from].canonical === CONVERSIONS[to].canonical;
}

function checkQuantities(check: FitCheck): void {
  const { group, action } = check;
  const { kind, rotation } = group;
  const { state, actions } = KINDS[kind];
  const refuse = (path: KeyPath, quantity: string, whose: string) =>
    report(check, "quantity_kind", path, `${quantity} is not a quantity of ${whose}`);
  for (const [index, quantity] of (group.state ?? []).entries()) {
    if (!state.includes(quantity)) refuse(["state", index], quantity, `${kind} state`);
  }
  if (!actions.includes(action)) refuse(["action"], action, `${kind} action`);
  const cannotAdd = rotation === "quat_xyzw" || rotation === "rot6d";
  if (kind === "eef" && action === "delta" && cannotAdd) {
    refuse(["action"], action, `a rotation written as ${rotation}`);
  }
  for (const [index, name] of (kind === "base" ? (group.elements ?? []) : []).entries()) {
    if (BASE_ELEMENTS.includes(name)) continue;
    const message = `${name} is not a base element; use ${BASE_ELEMENTS.join(", ")}`;
    report(check, "element_kind", ["elements", index], message);
  }
}

function checkRequired(check: FitCheck): void {
  const { group, unit } = check;
  const { kind } = group;
  const isOfJoint = KINDS[kind].isJoint && unit !== undefined;
  const required = [
    [isOfJoint && hasDimension(unit), "zero_missing", "zero", "say where zero is: urdf, driver or calibrated_mid"],
    [
      unit === "counts" && isOfJoint,
      "counts_missing",
      "counts_per_turn",
      "say how many counts a whole turn of the joint has",
    ],
    [
      kind === "gripper",
      "aperture_missing",
      "aperture",
      "say which native value is closed and which is open; conventions differ",
    ],
    [kind === "eef", "eef_frame_missing", "frame", "name the end-effector frame"],
    [kind === "eef", "eef_rotation_missing", "rotation", "name the rotation representation"],
  ] as const;
  for (const [isRequired, id, key, message] of required) {
    if (isRequired && group[key] === undefined) report(check, id, [key], message);
  }
}

/** Lists in limits and full scale have one entry per element. An end effector's number of elements depends on its rotation. */
function checkCounts(check: FitCheck): void {
  const { group } = check;
  const { kind, limits, normalized } = group;
  if (kind === "eef" && group.rotation === undefined) return;
  const expect = (numbers: unknown, path: KeyPath, expected: number) => {
    const found = Array.isArray(numbers) ? numbers.length : 1;
    if (numbers === undefined || (Array.isArray(numbers) && found === expected)) return;
    report(check, "limits_length", path, `expected ${expected} entries in element order, found ${found}`);
  };
  if (kind !== "gripper" && kind !== "base") {
    expect(limits?.position, ["limits", "position"], kind === "eef" ? 3 : elementsOf(group).length);
  }
  const count = boundedElements(group).length;
  const needsList = kind === "base" || kind === "eef";
  if (needsList || typeof limits?.velocity !== "number") expect(limits?.velocity, ["limits", "velocity"], count);
  const fullScale = normalized?.full_scale;
  if (typeof fullScale !== "number") expect(fullScale, ["normalized", "full_scale"], count);
}

function checkSide(side: Side | undefined, name: string, path: Path, findings: FindingList): void {
  const named = sideInName(name);
  if (side === undefined || named === undefined || side === named) return;
  findings.error("side_conflict", path, `${name} has side ${side}`);
}
