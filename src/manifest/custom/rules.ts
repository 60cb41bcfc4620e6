/** Stage 6 of a custom type: implausible values, and the robot as a whole (SPEC section 4). */
import { BOUNDS } from "../../api/robot-terms.ts";
import type { FindingList, Path } from "../../documents/findings.ts";
import {
  actionOf,
  boundedElements,
  commandedGrippers,
  type CompleteGroup,
  CONVERSIONS,
  elementsOf,
  hasDimension,
  KINDS,
  LIMB_ACTION,
  limitConversion,
  nativeScale,
  rounded,
  scalarAt,
  type Sided,
  sideOf,
  stateOf,
} from "./group.ts";
import type { Limits, Pair, Unit } from "./keys.ts";
import { isInherited, pathInGroup, pathOf, type Robot } from "./robot.ts";

/** Checks single values, then the robot as a whole. */
export function checkRules(robot: Robot, findings: FindingList): void {
  for (const group of robot.groups) {
    const check = { group, robot, findings };
    checkAperture(check);
    checkMissingLimits(check);
    checkPositions(check);
    checkSpeeds(check);
    checkWidth(check);
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
    const message = `${fps} fps repeats frames at ${rateHz} Hz`;
    if (fps < rateHz) findings.warning("camera_slow", pathOf(robot, "cameras", index, "fps"), message);
  }
}

interface GroupCheck {
  readonly group: CompleteGroup;
  readonly robot: Robot;
  readonly findings: FindingList;
}

function checkAperture({ group, findings }: GroupCheck): void {
  const { aperture } = group;
  if (aperture === undefined || aperture.closed !== aperture.open) return;
  findings.error("aperture_degenerate", pathInGroup(group, "aperture"), `closed and open are both ${aperture.open}`);
}

function checkMissingLimits({ group, robot, findings }: GroupCheck): void {
  const { kind, unit, limits, normalized, written } = group;
  const missing = (key: "position" | "velocity", message: string) => {
    // Below `limits`, also where the base's limits lack the key.
    const path = written === null ? pathInGroup(group, "limits") : ["groups", written.index, "limits", key];
    findings.error("limits_missing", path, message);
  };
  const action = actionOf(group, robot.action_semantics);
  const hasRange = kind === "eef" || (KINDS[kind].isJoint && unit !== undefined && hasDimension(unit));
  if (action === "position" && hasRange && limits?.position === undefined) {
    missing("position", "position commands need limits.position");
  }
  const isSpeed = action === "velocity" || action === "delta";
  if (isSpeed && limits?.velocity === undefined && normalized === undefined) {
    missing("velocity", `${action} commands need limits.velocity or normalized`);
  }
}

const TWO_TURNS_RAD = 4 * Math.PI;
const ONE_TURN = 2 * Math.PI;
/** The ranges of dimensionless units. */
const UNIT_RANGES: Partial<Readonly<Record<Unit, Pair>>> = {
  ratio: [0, 1],
  percent: [0, 100],
  calibrated_range: [-100, 100],
};

/** Reports positions that are inverted, outside their unit, or probably in the wrong unit. */
function checkPositions({ group, findings }: GroupCheck): void {
  const { unit = group.unit ?? "m", position = [] }: Partial<Limits> = group.limits ?? {};
  const elements = elementsOf(group);
  const range = UNIT_RANGES[unit];
  for (const [index, pair] of position.entries()) {
    const [low, high] = pair;
    const element = elements[index];
    if (!Number.isFinite(low) || element === undefined) continue;
    const path = pathInGroup(group, "limits", "position", index);
    const scale = limitConversion(group, element);
    // Limits that are very close become equal in the contract.
    const isInverted = rounded(low * scale) >= rounded(high * scale);
    if (isInverted) findings.error("limits_inverted", path, `${low} is not below ${high}`);
    const outside = range && pair.find((bound) => bound < range[0] || bound > range[1]);
    if (outside !== undefined) findings.error("limits_exceed_unit", path, `${outside} is outside ${unit}`);
  }
  const bounds = position.flat().filter(Number.isFinite);
  if (bounds.length === 0) return;
  const largest = Math.max(...bounds.map(Math.abs));
  const path = pathInGroup(group, "limits", "position");
  if (unit === "rad" && largest > TWO_TURNS_RAD) {
    findings.error("limits_look_like_degrees", path, `${largest} rad is over two turns; did you mean deg?`);
  }
  // Whole numbers that would be more than half a turn are degrees: ±5 deg are OpenArm's limits before it is set up.
  const isWhole = largest > Math.PI && bounds.every(Number.isInteger);
  if (unit === "deg" && largest <= ONE_TURN && !isWhole) {
    const message = "all limits are within 6.28 deg; did you mean rad?";
    findings.warning("limits_look_like_radians", path, message);
  }
}

/** Canonical units per second; other units have no such limit. */
const FASTEST = { rad: 50, m: 10, "1": Infinity } as const;

function checkSpeeds({ group, findings }: GroupCheck): void {
  const velocity = group.limits?.velocity;
  if (group.kind === "gripper" || velocity === undefined) return;
  for (const [index, element] of boundedElements(group).entries()) {
    const speed = scalarAt(velocity, index);
    const fastest = element.unit === null ? Infinity : FASTEST[CONVERSIONS[element.unit].canonical];
    if (speed === undefined || speed * limitConversion(group, element) <= fastest) continue;
    const isOne = typeof velocity === "number";
    const path = pathInGroup(group, "limits", "velocity", ...(isOne ? [] : [index]));
    findings.error("velocity_limit", path, `${speed} is not a plausible speed`);
    // One number for all elements is reported once.
    if (isOne) return;
  }
}

/** Warns of limits that are wider than the base's: intended, or a mistaken unit. */
function checkWidth({ group, robot, findings }: GroupCheck): void {
  const { limits, base } = group;
  if (limits === undefined || isInherited(group, "limits") || base === undefined) return;
  const own = canonicalLimits(group);
  const theirs = canonicalLimits(base);
  if (own.size !== theirs.size || [...own].some(([name, { unit }]) => theirs.get(name)?.unit !== unit)) return;
  // How far a joint may move from the middle of its calibrated travel is a property of the robot, not of its type.
  const isCalibrated = group.zero === "calibrated_mid" && base.zero === "calibrated_mid";
  const isWider = [...own].some(([name, { low, high, speed }]) => {
    const narrow = theirs.get(name);
    if (narrow === undefined) return false;
    const isWithinTurn = isCalibrated && !exceeds(-Math.PI, low) && !exceeds(high, Math.PI);
    return (!isWithinTurn && (exceeds(narrow.low, low) || exceeds(high, narrow.high))) || exceeds(speed, narrow.speed);
  });
  if (isWider) findings.warning("limits_wider_than_base", pathInGroup(group, "limits"), `wider than ${robot.base_id}`);
}

/** In canonical units, by the element's name; NaN where there is no limit. */
function canonicalLimits(group: CompleteGroup) {
  const { position, velocity = Number.NaN } = group.limits ?? {};
  return new Map(
    elementsOf(group).map((element, index) => {
      const scale = limitConversion(group, element);
      const [low, high] = position?.[index] ?? [Number.NaN, Number.NaN];
      const speed = scalarAt(velocity, index) ?? Number.NaN;
      const unit = element.unit === null ? null : CONVERSIONS[element.unit].canonical;
      return [element.name, { unit, low: low * scale, high: high * scale, speed: speed * scale }] as const;
    }),
  );
}

/** In canonical units: the error of the conversion, by which a limit may exceed the base's. */
const WIDER_TOLERANCE = 1e-6;

/** False where there is no limit. */
function exceeds(value: number, limit: number): boolean {
  return value - limit > WIDER_TOLERANCE;
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
  return robot.groups.filter(({ kind }) => KINDS[kind].isLimb);
}

function checkTopology(robot: Robot, findings: FindingList): void {
  const { topology, groups } = robot;
  const sides = new Set(limbsOf(robot).map(sideOf));
  const hasBase = groups.some(({ kind }) => kind === "base");
  const isBimanual = sides.has("left") && sides.has("right");
  const rules = [
    ["mobile_manipulator", hasBase, "a base group"],
    ["bimanual", !hasBase, "no base group"],
    ["bimanual", hasBase || isBimanual, "a left and a right arm or end effector"],
    ["single_arm", !hasBase, "no base group"],
    ["single_arm", hasBase || !isBimanual, "arms or end effectors of one side"],
  ] as const;
  for (const [of, isKept, needed] of rules) {
    if (of !== topology || isKept) continue;
    findings.error("topology_mismatch", pathOf(robot, "topology"), `${topology} needs ${needed}`);
  }
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
  const { gripper, groups, action_semantics: actionSemantics } = robot;
  const { length } = commandedGrippers(groups, actionSemantics);
  if (gripper === undefined || (gripper === "none") === (length === 0)) return;
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
