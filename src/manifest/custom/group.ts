/** A group with its defaults: its side, and the names and units of its elements. */
import { below } from "../../documents/pointer.ts";
import type { Action, ActionSemantics, Group, Scalars, Side, Spot, StateQuantity, Unit, Valued } from "./body.ts";
import { BASE_ELEMENTS, defaultAction, kindRules, ROTATION_ELEMENTS } from "./kinds.ts";
import type { CompleteGroup, Robot } from "./robot.ts";
import { conversion } from "./units.ts";

/** One element of a group's vector. */
export interface Element {
  readonly name: string;
  /** Native unit; null for parts of a rotation that are not angles. */
  readonly unit: Unit | null;
}

/** In vector order. Those of an end effector depend on its rotation. */
export function elementsOf(group: CompleteGroup): readonly Element[] {
  const angleUnit = group.angle_unit?.value ?? "rad";
  switch (group.kind.value) {
    case "base": {
      const unit = group.unit?.value ?? "m";
      return elementNames(group).map((name) => ({ name, unit: name === "theta" ? angleUnit : unit }));
    }
    case "eef": {
      const unit = group.unit?.value ?? "m";
      const rotation = group.rotation?.value ?? "none";
      const isAngular = rotation === "euler_xyz" || rotation === "rotvec";
      return [
        ...["x", "y", "z"].map((name) => ({ name, unit })),
        ...ROTATION_ELEMENTS[rotation].map((name) => ({ name, unit: isAngular ? angleUnit : null })),
      ];
    }
    case "arm":
    case "gripper":
    case "hand":
    case "head":
    case "torso":
    case "leg": {
      const unit = group.unit?.value ?? null;
      return elementNames(group).map((name) => ({ name, unit }));
    }
  }
}

/** The elements that `limits.velocity` and `full_scale` apply to. */
export function boundedElements(group: CompleteGroup): readonly Element[] {
  return elementsOf(group).filter(({ unit }) => unit !== null);
}

/** An element's index among the bounded ones; −1 for the others. */
export function boundedIndex(group: CompleteGroup, { name }: Element): number {
  return boundedElements(group).findIndex((element) => element.name === name);
}

function elementNames({ kind, elements }: CompleteGroup): readonly string[] {
  if (elements !== undefined) return elements.value.map(({ value }) => value);
  return kind.value === "base" ? BASE_ELEMENTS : ["gripper"];
}

export function stateOf({ kind, state }: CompleteGroup): readonly StateQuantity[] {
  return state?.value.map(({ value }) => value) ?? [kindRules(kind.value).defaultState];
}

export function actionOf({ kind, action }: CompleteGroup, semantics: ActionSemantics): Action {
  return action?.value ?? defaultAction(kind.value, semantics);
}

export function commandedGrippers({ groups, action_semantics: actionSemantics }: Robot): readonly CompleteGroup[] {
  return groups.value.filter(
    (group) => group.kind.value === "gripper" && actionOf(group, actionSemantics.value) !== "none",
  );
}

/** A group or camera: its side, unless written, is in its name. */
export type Sided = Pick<Group, "name" | "side">;

export function sideOf({ name, side }: Sided): Side {
  return side?.value ?? sideInName(name.value) ?? "none";
}

/** The side in a name; undefined where the name has none or both. */
export function sideInName(name: string): "left" | "right" | undefined {
  const words = name.split("_");
  const [left, right] = [words.includes("left"), words.includes("right")];
  if (left === right) return undefined;
  return left ? "left" : "right";
}

/** Canonical units in one unit of the group's limits, for an element that has a unit. */
export function limitConversion(group: CompleteGroup, { unit }: Element): number {
  if (group.kind.value === "gripper" && group.aperture !== undefined) {
    const { closed, open } = group.aperture.value;
    return Math.abs(1 / (open - closed));
  }
  const written = group.limits?.value.unit?.value ?? unit;
  return written === null ? 1 : nativeScale(group, written);
}

/** Canonical units in one of this unit. */
export function nativeScale({ counts_per_turn: countsPerTurn }: Group, unit: Unit): number {
  const { scale } = conversion(unit);
  return unit === "counts" ? scale / (countsPerTurn?.value ?? 1) : scale;
}

/** The number for the element at `index`. */
export function scalarAt(scalars: Scalars, index: number): number | undefined {
  return typeof scalars === "number" ? scalars : scalars[index]?.value;
}

/** The position of the number for the element at `index`. */
export function spotOfScalar(scalars: Valued<Scalars>, index: number): Spot {
  return typeof scalars.value === "number" ? scalars : (scalars.value[index] ?? scalars);
}

/** The position of a key, present or missing; for a key of the base, that of `extends`. */
export function spotOfKey(mapping: Spot, key: string, value: Spot | undefined): Spot {
  if (value !== undefined) return value;
  return isInherited(mapping) ? mapping : { path: below(mapping.path, key), offset: mapping.offset };
}

/** The position of a missing limit: below `limits`, which may be missing too. */
export function spotOfLimit(group: CompleteGroup, key: "position" | "velocity"): Spot {
  if (isInherited(group)) return group;
  const { limits } = group;
  const innermost = limits === undefined || isInherited(limits) ? group : limits;
  return { path: below(below(group.path, "limits"), key), offset: innermost.offset };
}

export function isInherited({ path }: Spot): boolean {
  return path !== null && path.parent === null && path.step === "extends";
}
