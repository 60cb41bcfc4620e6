/** Stage 6 of a custom type: implausible values, and the robot as a whole (SPEC section 4). */
import { BOUNDS } from "../../api/robot-terms.ts";
import type { FindingList, Path } from "../../documents/findings.ts";
import {
  actionOf,
  boundedElements,
  commandedGrippers,
  elementsOf,
  limitConversion,
  nativeScale,
  scalarAt,
  type Sided,
  sideOf,
  stateOf,
} from "./group.ts";
import { kindRules, LIMB_ACTION } from "./kinds.ts";
import { checkLimits, type GroupCheck } from "./limit-rules.ts";
import { type CompleteGroup, isInherited, pathInGroup, pathOf, type Robot } from "./robot.ts";
import { rounded } from "./units.ts";

/** Checks single values, then the robot as a whole. */
export function checkRules(robot: Robot, findings: FindingList): void {
  for (const group of robot.groups) {
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
  const { control_rate_hz: rateHz } = robot;
  for (const [index, { fps }] of robot.cameras.entries()) {
    if (fps >= rateHz) continue;
    findings.warning(
      "camera_slow",
      pathOf(robot, "cameras", index, "fps"),
      `${fps} fps repeats frames at ${rateHz} Hz`,
    );
  }
}

function checkAperture({ group, findings }: GroupCheck): void {
  const { aperture } = group;
  if (aperture === undefined || aperture.closed !== aperture.open) return;
  findings.error("aperture_degenerate", pathInGroup(group, "aperture"), `closed and open are both ${aperture.open}`);
}

/** Warns that commands beyond a joint's limit are clamped. */
function checkFullScale({ group, robot, findings }: GroupCheck): void {
  const { normalized, limits } = group;
  const speeds = limits?.velocity;
  if (normalized === undefined || speeds === undefined) return;
  const { full_scale: fullScale, per } = normalized;
  const steps = per === "step" ? robot.control_rate_hz : 1;
  for (const [index, element] of boundedElements(group).entries()) {
    const [scale, speed] = [scalarAt(fullScale, index), scalarAt(speeds, index)];
    if (scale === undefined || speed === undefined || element.unit === null) continue;
    const limit = (speed * limitConversion(group, element)) / steps / nativeScale(group, element.unit);
    if (rounded(scale) <= rounded(limit)) continue;
    const message = `full scale ${scale} is cut to the limit ${rounded(limit)}`;
    findings.warning("full_scale_over_limit", pathInGroup(group, "normalized"), message);
    return;
  }
}

/** Fingers in alphabetical order were probably sorted by a program. */
function checkHandOrder({ group, findings }: GroupCheck): void {
  const { kind, elements: names = [] } = group;
  if (kind !== "hand" || names.length < 3) return;
  const stems = new Set(names.map((name) => name.replace(/_?\d+$/, "")));
  if (stems.size < 2 || names.some((name, index) => name < (names[index - 1] ?? ""))) return;
  findings.warning("hand_sorted", pathInGroup(group, "elements"), "looks sorted; use the driver's order");
}

function checkBaseOrder({ group, robot, findings }: GroupCheck): void {
  const { elements: names } = group;
  const order = group.base?.elements;
  if (names === undefined || order === undefined || isInherited(group, "elements")) return;
  const isSameSet = names.length === order.length && order.every((name) => names.includes(name));
  if (!isSameSet || order.every((name, index) => name === names[index])) return;
  findings.warning("elements_reordered", pathInGroup(group, "elements"), `order differs from ${robot.base_id}`);
}

function limbsOf(robot: Robot): readonly CompleteGroup[] {
  return robot.groups.filter(({ kind }) => kindRules(kind).isLimb);
}

function checkTopology(robot: Robot, findings: FindingList): void {
  const { topology, groups } = robot;
  const sides = new Set(limbsOf(robot).map(sideOf));
  const hasBase = groups.some(({ kind }) => kind === "base");
  const isBimanual = sides.has("left") && sides.has("right");
  const reason = (() => {
    switch (topology) {
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
  if (reason !== null) findings.error("topology_mismatch", pathOf(robot, "topology"), `${topology} needs ${reason}`);
}

function checkSemantics(robot: Robot, findings: FindingList): void {
  const { action_semantics: actionSemantics } = robot;
  const wanted = LIMB_ACTION[actionSemantics];
  const actions = limbsOf(robot).map((group) => ({ group, action: actionOf(group, actionSemantics) }));
  const id = "action_semantics_mismatch";
  if (!actions.some(({ group, action }) => group.kind === wanted.kind && action === wanted.action)) {
    const message = `${actionSemantics} needs an ${wanted.kind} group with action ${wanted.action}`;
    findings.error(id, pathOf(robot, "action_semantics"), message);
  }
  for (const { group, action } of actions) {
    if (action === wanted.action || action === "none") continue;
    const message = `${actionSemantics} needs action ${wanted.action} or none, not ${action}`;
    findings.error(id, pathInGroup(group, "action"), message);
  }
}

function checkGripper(robot: Robot, findings: FindingList): void {
  const { gripper } = robot;
  if (gripper === undefined) return;
  const { length } = commandedGrippers(robot);
  if ((gripper === "none") === (length === 0)) return;
  const message = `${gripper}, but ${length} gripper groups are commanded`;
  findings.error("gripper_mismatch", pathOf(robot, "gripper"), message);
}

const SIDED_KINDS = ["arm", "gripper", "hand", "eef"] as const;

function checkSides(robot: Robot, findings: FindingList): void {
  const { groups } = robot;
  const needSide = (sided: Sided, path: Path, question: string) => {
    if (sideOf(sided) === "none") findings.error("side_missing", path, question);
  };
  for (const kind of SIDED_KINDS) {
    const alike = groups.filter((group) => group.kind === kind);
    // A written `none` is an answer: one arm may take several groups, as where it has joints in rad and in m.
    const question = `left or right? Where one ${kind} is written as several groups: side: none`;
    for (const group of alike.length > 1 ? alike : []) {
      if (group.side === undefined) needSide(group, pathInGroup(group, "side"), question);
    }
  }
  const first = (side: string) => groups.findIndex((group) => sideOf(group) === side);
  const [left, right] = [first("left"), first("right")];
  if (left === -1 || right === -1) return;
  for (const [index, { mount, role, side }] of robot.cameras.entries()) {
    const path = pathOf(robot, "cameras", index, "side");
    if (mount === "wrist") needSide({ name: role, side }, path, "left or right?");
  }
  const rightmost = groups[right];
  if (right < left && rightmost !== undefined) {
    findings.warning("right_first", pathInGroup(rightmost, "name"), "right before left: check the vector order");
  }
}

function checkAxisCounts(robot: Robot, findings: FindingList): void {
  const { groups, action_semantics: actionSemantics } = robot;
  const total = (quantities: (group: CompleteGroup) => number) =>
    groups.reduce((sum, group) => sum + quantities(group) * elementsOf(group).length, 0);
  const counts = {
    state: total((group) => stateOf(group).length),
    action: total((group) => (actionOf(group, actionSemantics) === "none" ? 0 : 1)),
  };
  for (const [vector, count] of Object.entries(counts)) {
    if (count < BOUNDS.axes.minimum || count > BOUNDS.axes.maximum)
      findings.error("axis_count", pathOf(robot, "groups"), `${vector} has ${count} axes`);
  }
}
