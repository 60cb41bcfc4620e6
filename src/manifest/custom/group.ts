/** What a group of each kind may be (SPEC section 2.4), its defaults, and its elements with their units (SPEC section 7, step 3). */
import type { Action, ActionSemantics, Group, Kind, Scalars, Side, StateQuantity, Unit } from "./keys.ts";

/** A group of a complete robot: the keys of the manifest, and of the base where the manifest has none. */
export interface CompleteGroup extends Group {
  readonly kind: Kind;
  /** As the manifest has it; null where only the extended type has it. */
  readonly written: { readonly index: number; readonly keys: Group } | null;
  /** The group of the extended type with this name. */
  readonly base: CompleteGroup | undefined;
}

interface KindRules {
  /** Only joints may have limits in another unit than their own. */
  readonly isJoint: boolean;
  /** Arms and end effectors, which the action semantics apply to. */
  readonly isLimb: boolean;
  readonly units: readonly Unit[];
  /** The first one is the default. */
  readonly state: readonly StateQuantity[];
  readonly actions: readonly Action[];
  /** Keys besides those that every kind allows. */
  readonly keys: readonly (keyof Group)[];
}

const JOINT = {
  isJoint: true,
  isLimb: false,
  state: ["position", "velocity", "effort"],
  actions: ["position", "velocity", "none"],
  keys: ["elements", "unit", "counts_per_turn", "zero"],
} as const;
const ANGLE_UNITS = ["rad", "deg", "calibrated_range", "counts"] as const;
const JOINT_UNITS = [...ANGLE_UNITS, "m", "mm"] as const;

export const KINDS: Readonly<Record<Kind, KindRules>> = {
  arm: { ...JOINT, isLimb: true, units: JOINT_UNITS },
  head: { ...JOINT, units: ANGLE_UNITS },
  leg: { ...JOINT, units: ANGLE_UNITS },
  torso: { ...JOINT, units: JOINT_UNITS },
  hand: { ...JOINT, units: [...ANGLE_UNITS, "ratio", "percent"] },
  gripper: {
    isJoint: false,
    isLimb: false,
    units: ["rad", "deg", "m", "mm", "ratio", "percent", "counts"],
    state: ["position"],
    actions: ["position", "none"],
    keys: ["elements", "unit", "aperture"],
  },
  base: {
    isJoint: false,
    isLimb: false,
    units: ["m", "mm"],
    state: ["velocity"],
    actions: ["velocity", "none"],
    keys: ["elements", "unit", "angle_unit"],
  },
  eef: {
    isJoint: false,
    isLimb: true,
    units: ["m", "mm"],
    state: ["position"],
    actions: ["position", "delta", "none"],
    keys: ["unit", "angle_unit", "frame", "rotation", "rotation_frame"],
  },
};

/** The kind of limb that is commanded, and how. */
export const LIMB_ACTION = {
  joint_position: { kind: "arm", action: "position" },
  joint_velocity: { kind: "arm", action: "velocity" },
  eef_delta: { kind: "eef", action: "delta" },
  eef_absolute: { kind: "eef", action: "position" },
} as const satisfies Readonly<Record<ActionSemantics, { readonly kind: Kind; readonly action: Action }>>;

export function actionOf({ kind, action }: CompleteGroup, semantics: ActionSemantics): Action {
  if (action !== undefined) return action;
  const limb = LIMB_ACTION[semantics];
  if (KINDS[kind].isLimb) return kind === limb.kind ? limb.action : "none";
  return kind === "base" ? "velocity" : "position";
}

export function stateOf({ kind, state }: CompleteGroup): readonly StateQuantity[] {
  return state ?? KINDS[kind].state.slice(0, 1);
}

export function commandedGrippers(groups: readonly CompleteGroup[], semantics: ActionSemantics) {
  return groups.filter((group) => group.kind === "gripper" && actionOf(group, semantics) !== "none");
}

/** A group or camera: its side, unless written, is in its name. */
export type Sided = Pick<Group, "name" | "side">;

export function sideOf({ name, side }: Sided): Side {
  return side ?? sideInName(name) ?? "none";
}

/** The side in a name; undefined where the name has none or both. */
export function sideInName(name: string): "left" | "right" | undefined {
  const words = name.split("_");
  const [left, right] = [words.includes("left"), words.includes("right")];
  if (left === right) return undefined;
  return left ? "left" : "right";
}

export const BASE_ELEMENTS: readonly string[] = ["x", "y", "theta"];

/** Names of the elements of an end effector's rotation. */
const ROTATION_ELEMENTS = {
  euler_xyz: ["roll", "pitch", "yaw"],
  rotvec: ["rx", "ry", "rz"],
  quat_xyzw: ["qx", "qy", "qz", "qw"],
  rot6d: ["r1", "r2", "r3", "r4", "r5", "r6"],
  none: [],
} as const;

/** One element of a group's vector. */
export interface Element {
  readonly name: string;
  /** Native unit; null for parts of a rotation that are not angles, which are the last ones. */
  readonly unit: Unit | null;
}

/** In vector order. Those of an end effector depend on its rotation. */
export function elementsOf(group: CompleteGroup): readonly Element[] {
  const { kind, elements, unit, angle_unit: angleUnit = "rad", rotation = "none" } = group;
  if (kind === "eef") {
    const turned = rotation === "euler_xyz" || rotation === "rotvec" ? angleUnit : null;
    return [
      ...["x", "y", "z"].map((name) => ({ name, unit: unit ?? ("m" as const) })),
      ...ROTATION_ELEMENTS[rotation].map((name) => ({ name, unit: turned })),
    ];
  }
  const names = elements ?? (kind === "base" ? BASE_ELEMENTS : ["gripper"]);
  if (kind !== "base") return names.map((name) => ({ name, unit: unit ?? null }));
  return names.map((name) => ({ name, unit: name === "theta" ? angleUnit : (unit ?? "m") }));
}

/** The elements that `limits.velocity` and `full_scale` apply to. */
export function boundedElements(group: CompleteGroup): readonly Element[] {
  return elementsOf(group).filter(({ unit }) => unit !== null);
}

/** The number for the element at `index`. */
export function scalarAt(scalars: Scalars, index: number): number | undefined {
  return typeof scalars === "number" ? scalars : scalars[index];
}

/** The contract's units. Dimensionless elements have `1`. */
export type CanonicalUnit = "rad" | "m" | "1";

/** Canonical = scale × native. */
export const CONVERSIONS: Readonly<Record<Unit, { readonly canonical: CanonicalUnit; readonly scale: number }>> = {
  rad: { canonical: "rad", scale: 1 },
  deg: { canonical: "rad", scale: Math.PI / 180 },
  m: { canonical: "m", scale: 1 },
  mm: { canonical: "m", scale: 0.001 },
  ratio: { canonical: "1", scale: 1 },
  percent: { canonical: "1", scale: 0.01 },
  calibrated_range: { canonical: "1", scale: 0.01 },
  // Of a whole turn: the group says how many there are (`nativeScale`).
  counts: { canonical: "rad", scale: 2 * Math.PI },
};

/** True for angles and lengths; a ratio does not say how far something moves. */
export function hasDimension(unit: Unit): boolean {
  return CONVERSIONS[unit].canonical !== "1";
}

/** Canonical units in one of this unit. */
export function nativeScale({ counts_per_turn: countsPerTurn }: Group, unit: Unit): number {
  const { scale } = CONVERSIONS[unit];
  return unit === "counts" ? scale / (countsPerTurn ?? 1) : scale;
}

/** Canonical units in one unit of the group's limits, for an element that has a unit. */
export function limitConversion(group: CompleteGroup, { unit }: Element): number {
  if (group.kind === "gripper" && group.aperture !== undefined) {
    const { closed, open } = group.aperture;
    return Math.abs(1 / (open - closed));
  }
  const written = group.limits?.unit ?? unit;
  return written === null ? 1 : nativeScale(group, written);
}

/** As the contract shows it: 12 significant decimal digits, no negative zero (SPEC section 7, step 8). */
export function rounded(value: number): number {
  return Number(value.toPrecision(12)) + 0;
}
