import type { FindingList, Path } from "../../documents/findings.ts";
import type { Limits, Pair, Scalars, Unit } from "./shape.ts";
import {
  actionOf,
  boundedElements,
  boundedIndex,
  type Element,
  elementsOf,
  limitConversion,
  scalarAt,
} from "./group.ts";
import { kindRules } from "./kinds.ts";
import { type CompleteGroup, isInherited, pathInGroup, type Robot } from "./robot.ts";
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
  const limits = check.group.limits;
  if (limits?.position !== undefined) checkPositions(check, limits, limits.position);
  if (limits?.velocity !== undefined) checkSpeeds(check, limits.velocity);
  checkWidth(check);
}

function checkMissing({ group, robot, findings }: GroupCheck): void {
  const { kind, unit, limits, normalized } = group;
  const missing = (key: "position" | "velocity", message: string) => {
    findings.error("limits_missing", pathOfLimit(group, key), message);
  };
  const action = actionOf(group, robot.action_semantics);
  switch (action) {
    case "position": {
      const isJointWithDimension = kindRules(kind).isJoint && unit !== undefined && hasDimension(unit);
      if ((kind === "eef" || isJointWithDimension) && limits?.position === undefined)
        missing("position", "position commands need limits.position");
      return;
    }
    case "velocity":
    case "delta":
      if (limits?.velocity === undefined && normalized === undefined)
        missing("velocity", `${action} commands need limits.velocity or normalized`);
      return;
    case "none":
  }
}

/** Below `limits`, also where the base's limits lack the key. */
function pathOfLimit(group: CompleteGroup, key: "position" | "velocity"): Path {
  return group.written === null ? pathInGroup(group, "limits") : ["groups", group.written.index, "limits", key];
}

function checkPositions({ group, findings }: GroupCheck, limits: Limits, position: readonly Pair[]): void {
  const unit = limits.unit ?? group.unit ?? "m";
  const range = UNIT_RANGES[unit];
  for (const [index, pair] of position.entries()) {
    const [low, high] = pair;
    const path = pathInGroup(group, "limits", "position", index);
    if (!Number.isFinite(low)) continue;
    if (isInverted(group, index, pair)) findings.error("limits_inverted", path, `${low} is not below ${high}`);
    const outside = range && pair.find((bound) => bound < range[0] || bound > range[1]);
    if (outside === undefined) continue;
    findings.error("limits_exceed_unit", path, `${outside} is outside ${unit}`);
  }
  const bounds = position.flat().filter(Number.isFinite);
  const largest = Math.max(0, ...bounds.map(Math.abs));
  const path = pathInGroup(group, "limits", "position");
  if (unit === "rad" && largest > TWO_TURNS_RAD) {
    const message = `${largest} rad is over two turns; did you mean deg?`;
    findings.error("limits_look_like_degrees", path, message);
  }
  // Whole numbers that would be more than half a turn are degrees: ±5 deg are OpenArm's limits before it is set up.
  const isWhole = largest > Math.PI && bounds.every(Number.isInteger);
  if (unit === "deg" && largest <= ONE_TURN && !isWhole) {
    const message = "all limits are within 6.28 deg; did you mean rad?";
    findings.warning("limits_look_like_radians", path, message);
  }
}

/** Compares the rounded values of the contract: limits that are very close become equal there. */
function isInverted(group: CompleteGroup, index: number, [low, high]: Pair): boolean {
  const element = elementsOf(group)[index];
  const scale = element === undefined ? 1 : limitConversion(group, element);
  return rounded(low * scale) >= rounded(high * scale);
}

function checkSpeeds({ group, findings }: GroupCheck, velocity: Scalars): void {
  if (group.kind === "gripper") return;
  for (const [index, element] of boundedElements(group).entries()) {
    const speed = scalarAt(velocity, index);
    const fastest = fastestOf(element);
    if (speed === undefined || fastest === null || speed * limitConversion(group, element) <= fastest) continue;
    const isOne = typeof velocity === "number";
    const path = pathInGroup(group, "limits", "velocity", ...(isOne ? [] : [index]));
    findings.error("velocity_limit", path, `${speed} is not a plausible speed`);
    // One number for all elements is reported once.
    if (isOne) return;
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

interface CanonicalLimit {
  readonly unit: string | null;
  readonly low: number | undefined;
  readonly high: number | undefined;
  readonly speed: number | undefined;
}

/** By the element's name. */
function canonicalLimits(group: CompleteGroup): ReadonlyMap<string, CanonicalLimit> {
  const { position, velocity } = group.limits ?? {};
  return new Map(
    elementsOf(group).map((element, index) => {
      const scale = limitConversion(group, element);
      const [low, high] = position?.[index] ?? [];
      const speed = velocity && scalarAt(velocity, boundedIndex(group, element));
      const unit = element.unit === null ? null : conversion(element.unit).canonical;
      const scaled = (value: number | undefined) => (value === undefined ? undefined : value * scale);
      return [element.name, { unit, low: scaled(low), high: scaled(high), speed: scaled(speed) }];
    }),
  );
}

function exceeds(value: number | undefined, limit: number | undefined): boolean {
  return value !== undefined && limit !== undefined && value - limit > WIDER_TOLERANCE;
}
