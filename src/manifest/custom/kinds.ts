/** The keys and values that each kind of group allows: SPEC section 2.4 as a table. */
import type { Action, ActionSemantics, Group, Kind, StateQuantity, Unit } from "./body.ts";

export interface KindRules {
  /** Only joints may have limits in another unit than their own. */
  readonly isJoint: boolean;
  /** Arms and end effectors, which the action semantics apply to. */
  readonly isLimb: boolean;
  /** `elements` must be written. */
  readonly hasElements: boolean;
  /** `unit` must be written. */
  readonly hasUnit: boolean;
  readonly units: readonly Unit[];
  readonly state: readonly StateQuantity[];
  readonly defaultState: StateQuantity;
  readonly actions: readonly Action[];
  /** Keys besides those that every kind allows. */
  readonly keys: readonly (keyof Group)[];
}

const JOINT = {
  isJoint: true,
  isLimb: false,
  hasElements: true,
  hasUnit: true,
  state: ["position", "velocity", "effort"],
  defaultState: "position",
  actions: ["position", "velocity", "none"],
  keys: ["elements", "unit", "zero"],
} as const;
const ANGLE_UNITS = ["rad", "deg", "calibrated_range"] as const;

const KIND_RULES: Readonly<Record<Kind, KindRules>> = {
  arm: { ...JOINT, isLimb: true, units: ANGLE_UNITS },
  head: { ...JOINT, units: ANGLE_UNITS },
  leg: { ...JOINT, units: ANGLE_UNITS },
  torso: { ...JOINT, units: [...ANGLE_UNITS, "m", "mm"] },
  hand: { ...JOINT, units: [...ANGLE_UNITS, "ratio", "percent"] },
  gripper: {
    isJoint: false,
    isLimb: false,
    hasElements: false,
    hasUnit: true,
    units: ["rad", "deg", "m", "mm", "ratio", "percent"],
    state: ["position"],
    defaultState: "position",
    actions: ["position", "none"],
    keys: ["elements", "unit", "aperture"],
  },
  base: {
    isJoint: false,
    isLimb: false,
    hasElements: false,
    hasUnit: false,
    units: ["m", "mm"],
    state: ["velocity"],
    defaultState: "velocity",
    actions: ["velocity", "none"],
    keys: ["elements", "unit", "angle_unit"],
  },
  eef: {
    isJoint: false,
    isLimb: true,
    hasElements: false,
    hasUnit: false,
    units: ["m", "mm"],
    state: ["position"],
    defaultState: "position",
    actions: ["position", "delta", "none"],
    keys: ["unit", "angle_unit", "frame", "rotation"],
  },
};

export function kindRules(kind: Kind): KindRules {
  return KIND_RULES[kind];
}

/** The default actions of limbs. */
const LIMB_ACTIONS: Readonly<Record<ActionSemantics, Readonly<Record<"arm" | "eef", Action>>>> = {
  joint_position: { arm: "position", eef: "none" },
  joint_velocity: { arm: "velocity", eef: "none" },
  eef_delta: { arm: "none", eef: "delta" },
  eef_absolute: { arm: "none", eef: "position" },
};

/** The action of a group without `action`. */
export function defaultAction(kind: Kind, semantics: ActionSemantics): Action {
  if (kind === "arm" || kind === "eef") return LIMB_ACTIONS[semantics][kind];
  return kind === "base" ? "velocity" : "position";
}

export const BASE_ELEMENTS = ["x", "y", "theta"] as const;

/** Names of the elements of an end effector's rotation. */
export const ROTATION_ELEMENTS = {
  euler_xyz: ["roll", "pitch", "yaw"],
  rotvec: ["rx", "ry", "rz"],
  quat_xyzw: ["qx", "qy", "qz", "qw"],
  rot6d: ["r1", "r2", "r3", "r4", "r5", "r6"],
  none: [],
} as const;
