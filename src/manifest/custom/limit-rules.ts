import type { FindingList } from "../../documents/finding-list.ts";
import type { Limits, Pair, Scalars, Unit, Valued } from "./body.ts";
import {
  actionOf,
  boundedElements,
  boundedIndex,
  type Element,
  elementsOf,
  isInherited,
  limitConversion,
  scalarAt,
  spotOfLimit,
  spotOfScalar,
} from "./group.ts";
import { kindRules } from "./kinds.ts";
import type { CompleteGroup, Robot } from "./robot.ts";
import { conversion, hasDimension, rounded } from "./units.ts";

export interface GroupCheck {
  readonly group: CompleteGroup;
  readonly robot: Robot;
  readonly findings: FindingList;
}

const TWO_TURNS_RAD = 4 * Math.PI;
const ONE_TURN = 2 * Math.PI;
const FASTEST = { rad: 50, m: 10 } as const;
/** In canonical units: the error of the conversion, by which a limit may exceed the base's. */
const WIDER_TOLERANCE = 1e-6;
/** The ranges of dimensionless units. */
const UNIT_RANGES: Partial<Readonly<Record<Unit, Pair>>> = {
  ratio: [0, 1],
  percent: [0, 100],
  calibrated_range: [-100, 100],
};

/** Reports limits that are missing, inverted, outside their unit, probably in the wrong unit, or wider than the base's. */
export function checkLimits(check: GroupCheck): void {
  checkMissing(check);
  const limits = check.group.limits?.value;
  if (limits?.position !== undefined) checkPositions(check, limits, limits.position);
  if (limits?.velocity !== undefined) checkSpeeds(check, limits.velocity);
  checkWidth(check);
}

function checkMissing({ group, robot, findings }: GroupCheck): void {
  const { kind, unit, limits, normalized } = group;
  const missing = (key: "position" | "velocity", message: string) => {
    const { path, offset } = spotOfLimit(group, key);
    findings.error("limits_missing", path, offset, message);
  };
  const action = actionOf(group, robot.action_semantics.value);
  switch (action) {
    case "position": {
      const isJointWithDimension = kindRules(kind.value).isJoint && unit !== undefined && hasDimension(unit.value);
      if ((kind.value === "eef" || isJointWithDimension) && limits?.value.position === undefined)
        missing("position", "position commands need limits.position");
      return;
    }
    case "velocity":
    case "delta":
      if (limits?.value.velocity === undefined && normalized === undefined)
        missing("velocity", `${action} commands need limits.velocity or normalized`);
      return;
    case "none":
  }
}

function checkPositions(
  { group, findings }: GroupCheck,
  limits: Limits,
  position: Valued<readonly Valued<Pair>[]>,
): void {
  const unit = limits.unit?.value ?? group.unit?.value ?? "m";
  const range = UNIT_RANGES[unit];
  for (const [index, { value, path, offset }] of position.value.entries()) {
    const [low, high] = value;
    if (!Number.isFinite(low)) continue;
    if (isInverted(group, index, value)) findings.error("limits_inverted", path, offset, `${low} is not below ${high}`);
    const outside = range && value.find((bound) => bound < range[0] || bound > range[1]);
    if (outside === undefined) continue;
    findings.error("limits_exceed_unit", path, offset, `${outside} is outside ${unit}`);
  }
  const bounds = position.value.flatMap(({ value }) => value).filter(Number.isFinite);
  const largest = Math.max(0, ...bounds.map(Math.abs));
  const { path, offset } = position;
  if (unit === "rad" && largest > TWO_TURNS_RAD) {
    const message = `${largest} rad is over two turns; did you mean deg?`;
    findings.error("limits_look_like_degrees", path, offset, message);
  }
  // Whole numbers that would be more than half a turn are degrees: ±5 deg are OpenArm's limits before it is set up.
  const isWhole = largest > Math.PI && bounds.every(Number.isInteger);
  if (unit === "deg" && largest <= ONE_TURN && !isWhole) {
    const message = "all limits are within 6.28 deg; did you mean rad?";
    findings.warning("limits_look_like_radians", path, offset, message);
  }
}

/** Compares the rounded values of the contract: limits that are very close become equal there. */
function isInverted(group: CompleteGroup, index: number, [low, high]: Pair): boolean {
  const element = elementsOf(group)[index];
  const scale = element === undefined ? 1 : limitConversion(group, element);
  return rounded(low * scale) >= rounded(high * scale);
}

function checkSpeeds({ group, findings }: GroupCheck, velocity: Valued<Scalars>): void {
  if (group.kind.value === "gripper") return;
  for (const [index, element] of boundedElements(group).entries()) {
    const speed = scalarAt(velocity.value, index);
    const fastest = fastestOf(element);
    if (speed === undefined || fastest === null || speed * limitConversion(group, element) <= fastest) continue;
    const { path, offset } = spotOfScalar(velocity, index);
    findings.error("velocity_limit", path, offset, `${speed} is not a plausible speed`);
    // One number for all elements is reported once.
    if (typeof velocity.value === "number") return;
  }
}

function fastestOf({ unit }: Element): number | null {
  if (unit === null) return null;
  const { canonical } = conversion(unit);
  return canonical === "1" ? null : FASTEST[canonical];
}

/** Warns of limits that are wider than the base's: intended, or a mistaken unit. */
function checkWidth({ group, robot, findings }: GroupCheck): void {
  const { limits, base } = group;
  if (limits === undefined || isInherited(limits) || base === undefined) return;
  const own = canonicalLimits(group);
  const theirs = canonicalLimits(base);
  if (own.size !== theirs.size || [...own].some(([name, { unit }]) => theirs.get(name)?.unit !== unit)) return;
  // How far a joint may move from the middle of its calibrated travel is a property of the robot, not of its type.
  const isCalibrated = group.zero?.value === "calibrated_mid" && base.zero?.value === "calibrated_mid";
  const isWider = [...own].some(([name, { low, high, speed }]) => {
    const narrow = theirs.get(name);
    if (narrow === undefined) return false;
    const isWithinTurn = isCalibrated && !exceeds(-Math.PI, low) && !exceeds(high, Math.PI);
    return (!isWithinTurn && (exceeds(narrow.low, low) || exceeds(high, narrow.high))) || exceeds(speed, narrow.speed);
  });
  if (isWider) findings.warning("limits_wider_than_base", limits.path, limits.offset, `wider than ${robot.base_id}`);
}

interface CanonicalLimit {
  readonly unit: string | null;
  readonly low: number | undefined;
  readonly high: number | undefined;
  readonly speed: number | undefined;
}

/** By the element's name. */
function canonicalLimits(group: CompleteGroup): ReadonlyMap<string, CanonicalLimit> {
  const { position, velocity } = group.limits?.value ?? {};
  return new Map(
    elementsOf(group).map((element, index) => {
      const scale = limitConversion(group, element);
      const [low, high] = position?.value[index]?.value ?? [];
      const speed = velocity && scalarAt(velocity.value, boundedIndex(group, element));
      const unit = element.unit === null ? null : conversion(element.unit).canonical;
      const scaled = (value: number | undefined) => (value === undefined ? undefined : value * scale);
      return [element.name, { unit, low: scaled(low), high: scaled(high), speed: scaled(speed) }];
    }),
  );
}

function exceeds(value: number | undefined, limit: number | undefined): boolean {
  return value !== undefined && limit !== undefined && value - limit > WIDER_TOLERANCE;
}
