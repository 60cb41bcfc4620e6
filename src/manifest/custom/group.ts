/** A group with its defaults: its side, and the names and units of its elements. */
import { BASE_ELEMENTS, defaultAction, kindRules, ROTATION_ELEMENTS } from "./kinds.ts";
import type { CompleteGroup, Robot } from "./robot.ts";
import type { Action, ActionSemantics, Group, Scalars, Side, StateQuantity, Unit } from "./shape.ts";
import { conversion } from "./units.ts";

/** One element of a group's vector. */
export interface Element {
  readonly name: string;
  /** Native unit; null for parts of a rotation that are not angles. */
  readonly unit: Unit | null;
}

/** In vector order. Those of an end effector depend on its rotation. */
export function elementsOf(group: CompleteGroup): readonly Element[] {
  const { kind, unit, angle_unit: angleUnit = "rad", rotation = "none" } = group;
  switch (kind) {
    case "base":
      return elementNames(group).map((name) => ({ name, unit: name === "theta" ? angleUnit : (unit ?? "m") }));
    case "eef": {
      const isAngular = rotation === "euler_xyz" || rotation === "rotvec";
      return [
        ...["x", "y", "z"].map((name) => ({ name, unit: unit ?? ("m" as const) })),
        ...ROTATION_ELEMENTS[rotation].map((name) => ({ name, unit: isAngular ? angleUnit : null })),
      ];
    }
    case "arm":
    case "gripper":
    case "hand":
    case "head":
    case "torso":
    case "leg":
      return elementNames(group).map((name) => ({ name, unit: unit ?? null }));
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
  return elements ?? (kind === "base" ? BASE_ELEMENTS : ["gripper"]);
}

export function stateOf({ kind, state }: CompleteGroup): readonly StateQuantity[] {
  return state ?? [kindRules(kind).defaultState];
}

export function actionOf({ kind, action }: CompleteGroup, semantics: ActionSemantics): Action {
  return action ?? defaultAction(kind, semantics);
}

export function commandedGrippers({ groups, action_semantics: actionSemantics }: Robot): readonly CompleteGroup[] {
  return groups.filter((group) => group.kind === "gripper" && actionOf(group, actionSemantics) !== "none");
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

/** Canonical units in one unit of the group's limits, for an element that has a unit. */
export function limitConversion(group: CompleteGroup, { unit }: Element): number {
  if (group.kind === "gripper" && group.aperture !== undefined) {
    const { closed, open } = group.aperture;
    return Math.abs(1 / (open - closed));
  }
  const written = group.limits?.unit ?? unit;
  return written === null ? 1 : nativeScale(group, written);
}

/** Canonical units in one of this unit. */
export function nativeScale({ counts_per_turn: countsPerTurn }: Group, unit: Unit): number {
  const { scale } = conversion(unit);
  return unit === "counts" ? scale / (countsPerTurn ?? 1) : scale;
}

/** The number for the element at `index`. */
export function scalarAt(scalars: Scalars, index: number): number | undefined {
  return typeof scalars === "number" ? scalars : scalars[index];
}
