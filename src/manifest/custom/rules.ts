/** Stage 6 of a custom type: implausible values, and the robot as a whole (SPEC section 4). */
import { BOUNDS } from "../../api/robot-terms.ts";
import type { FindingList } from "../../documents/finding-list.ts";
import type { Spot } from "./body.ts";
import {
  actionOf,
  boundedElements,
  commandedGrippers,
  elementsOf,
  isInherited,
  limitConversion,
  nativeScale,
  scalarAt,
  type Sided,
  sideOf,
  spotOfKey,
  stateOf,
} from "./group.ts";
import { kindRules, LIMB_ACTION } from "./kinds.ts";
import { checkLimits, type GroupCheck } from "./limit-rules.ts";
import type { CompleteGroup, Robot } from "./robot.ts";
import { rounded } from "./units.ts";

/** Checks single values, then the robot as a whole. */
export function checkRules(robot: Robot, findings: FindingList): void {
  for (const group of robot.groups.value) {
    const check = { group, robot, findings };
    checkAperture(check);
    checkLimits(check);
    checkFullScale(check);
    checkHandOrder(check);
    checkBaseOrder(check);
  }
  checkTopology(robot, findings);
  checkSemantics(robot, findings);
  checkGripper(robot, findings);
  checkSides(robot, findings);
  checkAxisCounts(robot, findings);
  for (const { fps } of robot.cameras) {
    const rate = robot.control_rate_hz.value;
    if (fps.value < rate) warn(findings, "camera_slow", fps, `${fps.value} fps repeats frames at ${rate} Hz`);
  }
}

function refuse(findings: FindingList, id: string, { path, offset }: Spot, message: string): void {
  findings.error(id, path, offset, message);
}

function warn(findings: FindingList, id: string, { path, offset }: Spot, message: string): void {
  findings.warning(id, path, offset, message);
}

function checkAperture({ group: { aperture }, findings }: GroupCheck): void {
  if (aperture === undefined || aperture.value.closed !== aperture.value.open) return;
  refuse(findings, "aperture_degenerate", aperture, `closed and open are both ${aperture.value.open}`);
}

/** Warns that commands beyond a joint's limit are clamped. */
function checkFullScale({ group, robot, findings }: GroupCheck): void {
  const { normalized, limits } = group;
  const speeds = limits?.value.velocity?.value;
  if (normalized === undefined || speeds === undefined) return;
  const { full_scale: fullScale, per } = normalized.value;
  const steps = per === "step" ? robot.control_rate_hz.value : 1;
  for (const [index, element] of boundedElements(group).entries()) {
    const [scale, speed] = [scalarAt(fullScale.value, index), scalarAt(speeds, index)];
    if (scale === undefined || speed === undefined || element.unit === null) continue;
    const limit = (speed * limitConversion(group, element)) / steps / nativeScale(group, element.unit);
    if (rounded(scale) <= rounded(limit)) continue;
    warn(findings, "full_scale_over_limit", normalized, `full scale ${scale} is cut to the limit ${rounded(limit)}`);
    return;
  }
}

/** Fingers in alphabetical order were probably sorted by a program. */
function checkHandOrder({ group: { kind, elements }, findings }: GroupCheck): void {
  const names = elements?.value.map(({ value }) => value) ?? [];
  if (kind.value !== "hand" || elements === undefined || names.length < 3) return;
  const stems = new Set(names.map((name) => name.replace(/_?\d+$/, "")));
  if (stems.size < 2 || names.some((name, index) => name < (names[index - 1] ?? ""))) return;
  warn(findings, "hand_sorted", elements, "looks sorted; use the driver's order");
}

function checkBaseOrder({ group: { elements, base }, robot, findings }: GroupCheck): void {
  if (elements === undefined || base?.elements === undefined || isInherited(elements)) return;
  const names = elements.value.map(({ value }) => value);
  const order = base.elements.value.map(({ value }) => value);
  const isSameSet = names.length === order.length && order.every((name) => names.includes(name));
  if (!isSameSet || order.every((name, index) => name === names[index])) return;
  warn(findings, "elements_reordered", elements, `order differs from ${robot.base_id}`);
}

function limbsOf(robot: Robot): readonly CompleteGroup[] {
  return robot.groups.value.filter(({ kind }) => kindRules(kind.value).isLimb);
}

function checkTopology(robot: Robot, findings: FindingList): void {
  const { topology, groups } = robot;
  const sides = new Set(limbsOf(robot).map(sideOf));
  const hasBase = groups.value.some(({ kind }) => kind.value === "base");
  const isBimanual = sides.has("left") && sides.has("right");
  const reason = (() => {
    switch (topology.value) {
      case "mobile_manipulator":
        return hasBase ? null : "a base group";
      case "bimanual":
        if (hasBase) return "no base group";
        return isBimanual ? null : "a left and a right arm or end effector";
      case "single_arm":
        if (hasBase) return "no base group";
        return isBimanual ? "arms or end effectors of one side" : null;
    }
  })();
  if (reason !== null) refuse(findings, "topology_mismatch", topology, `${topology.value} needs ${reason}`);
}

function checkSemantics(robot: Robot, findings: FindingList): void {
  const { action_semantics: actionSemantics } = robot;
  const wanted = LIMB_ACTION[actionSemantics.value];
  const actions = limbsOf(robot).map((group) => ({ group, action: actionOf(group, actionSemantics.value) }));
  const id = "action_semantics_mismatch";
  if (!actions.some(({ group, action }) => group.kind.value === wanted.kind && action === wanted.action)) {
    const message = `${actionSemantics.value} needs an ${wanted.kind} group with action ${wanted.action}`;
    refuse(findings, id, actionSemantics, message);
  }
  for (const { group, action } of actions) {
    if (action === wanted.action || action === "none") continue;
    const message = `${actionSemantics.value} needs action ${wanted.action} or none, not ${action}`;
    refuse(findings, id, spotOfKey(group, "action", group.action), message);
  }
}

function checkGripper(robot: Robot, findings: FindingList): void {
  const { gripper } = robot;
  if (gripper === undefined) return;
  const { length } = commandedGrippers(robot);
  if ((gripper.value === "none") === (length === 0)) return;
  const message = `${gripper.value}, but ${length} gripper groups are commanded`;
  refuse(findings, "gripper_mismatch", gripper, message);
}

const SIDED_KINDS = ["arm", "gripper", "hand", "eef"] as const;

function checkSides({ groups, cameras }: Robot, findings: FindingList): void {
  for (const kind of SIDED_KINDS) {
    const alike = groups.value.filter((group) => group.kind.value === kind);
    // A written `none` is an answer: one arm may take several groups, as where it has joints in rad and in m.
    if (alike.length > 1)
      requireSides(
        alike.filter(({ side }) => side === undefined),
        `left or right? Where one ${kind} is written as several groups: side: none`,
        findings,
      );
  }
  const first = (side: string) => groups.value.findIndex((group) => sideOf(group) === side);
  const [left, right] = [first("left"), first("right")];
  if (left === -1 || right === -1) return;
  requireSides(
    cameras
      .filter(({ mount }) => mount === "wrist")
      .map(({ path, offset, role, side }) => ({ path, offset, name: role, side })),
    "left or right?",
    findings,
  );
  const rightmost = groups.value[right];
  if (right < left && rightmost !== undefined) {
    warn(findings, "right_first", rightmost.name, "right before left: check the vector order");
  }
}

function requireSides(sided: readonly (Sided & Spot)[], question: string, findings: FindingList): void {
  for (const item of sided) {
    if (sideOf(item) === "none") refuse(findings, "side_missing", spotOfKey(item, "side", item.side), question);
  }
}

function checkAxisCounts({ groups, action_semantics: actionSemantics }: Robot, findings: FindingList): void {
  const total = (quantities: (group: CompleteGroup) => number) =>
    groups.value.reduce((sum, group) => sum + quantities(group) * elementsOf(group).length, 0);
  const counts = {
    state: total((group) => stateOf(group).length),
    action: total((group) => (actionOf(group, actionSemantics.value) === "none" ? 0 : 1)),
  };
  for (const [vector, count] of Object.entries(counts)) {
    if (count < BOUNDS.axes.minimum || count > BOUNDS.axes.maximum)
      refuse(findings, "axis_count", groups, `${vector} has ${count} axes`);
  }
}
