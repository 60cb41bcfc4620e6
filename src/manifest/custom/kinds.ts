/** The keys and values that each kind of group allows: SPEC section 2.4 as a table. */
import type { Action, ActionSemantics, Group, Kind, StateQuantity, Unit } from "./shape.ts";

interface KindRules {
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
  keys: ["elements", "unit", "counts_per_turn", "zero"],
} as const;
/** What is neither a joint nor needs `elements`. */
const OTHER = { isJoint: false, isLimb: false, hasElements: false, hasUnit: false, units: ["m", "mm"] } as const;
const ANGLE_UNITS = ["rad", "deg", "calibrated_range", "counts"] as const;
const JOINT_UNITS = [...ANGLE_UNITS, "m", "mm"] as const;

const KIND_RULES: Readonly<Record<Kind, KindRules>> = {
  arm: { ...JOINT, isLimb: true, units: JOINT_UNITS },
  head: { ...JOINT, units: ANGLE_UNITS },
  leg: { ...JOINT, units: ANGLE_UNITS },
  torso: { ...JOINT, units: JOINT_UNITS },
  hand: { ...JOINT, units: [...ANGLE_UNITS, "ratio", "percent"] },
  gripper: {
    ...OTHER,
    hasUnit: true,
    units: ["rad", "deg", "m", "mm", "ratio", "percent", "counts"],
    state: ["position"],
    defaultState: "position",
    actions: ["position", "none"],
    keys: ["elements", "unit", "aperture"],
  },
  base: {
    ...OTHER,
    state: ["velocity"],
    defaultState: "velocity",
    actions: ["velocity", "none"],
    keys: ["elements", "unit", "angle_unit"],
  },
  eef: {
    ...OTHER,
    isLimb: true,
    state: ["position"],
    defaultState: "position",
    actions: ["position", "delta", "none"],
    keys: ["unit", "angle_unit", "frame", "rotation", "rotation_frame"],
  },
};

export function kindRules(kind: Kind): KindRules {
  return KIND_RULES[kind];
}

/** The kind of limb that is commanded, and how. */
export const LIMB_ACTION = {
  joint_position: { kind: "arm", action: "position" },
  joint_velocity: { kind: "arm", action: "velocity" },
  eef_delta: { kind: "eef", action: "delta" },
  eef_absolute: { kind: "eef", action: "position" },
} as const satisfies Readonly<Record<ActionSemantics, { readonly kind: Kind; readonly action: Action }>>;

/** The action of a group without `action`. */
export function defaultAction(kind: Kind, semantics: ActionSemantics): Action {
  const limb = LIMB_ACTION[semantics];
  if (KIND_RULES[kind].isLimb) return kind === limb.kind ? limb.action : "none";
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
