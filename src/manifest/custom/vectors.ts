/** The state and action vectors of a contract: SPEC section 7. */
import { RATE_UNITS } from "../../api/robot-terms.ts";
import type { ActionSemantics, Pair, StateQuantity } from "./shape.ts";
import type { ActionAxis, StateAxis } from "./contract.ts";
import {
  actionOf,
  boundedIndex,
  type Element,
  elementsOf,
  limitConversion,
  nativeScale,
  scalarAt,
  stateOf,
} from "./group.ts";
import type { CompleteGroup } from "./robot.ts";
import { type CanonicalUnit, conversion, rounded } from "./units.ts";

/** One element of a group with its numbers in canonical units. */
interface Axis {
  readonly group: CompleteGroup;
  readonly element: Element;
  readonly canonical: CanonicalUnit;
  /** Canonical = scale × native + offset. */
  readonly scale: number;
  readonly offset: number;
  readonly limits: Pair | undefined;
  /** Per second. */
  readonly speed: number | undefined;
  /** Native. */
  readonly full_scale: number | undefined;
  readonly rate_hz: number;
}

/** In vector order. */
export interface Vectors {
  readonly state: readonly StateAxis[];
  readonly action: readonly ActionAxis[];
}

/** A group's part of both vectors. */
export function vectorsOf(
  group: CompleteGroup,
  robot: { readonly action_semantics: ActionSemantics; readonly control_rate_hz: number },
): Vectors {
  const axes = elementsOf(group).map((element, index) => axisOf(group, element, index, robot.control_rate_hz));
  const action = actionOf(group, robot.action_semantics);
  return {
    state: stateOf(group).flatMap((quantity) => axes.map((axis) => stateAxis(axis, quantity))),
    action: action === "none" ? [] : axes.map((axis) => actionAxis(axis, action)),
  };
}

function axisOf(group: CompleteGroup, element: Element, index: number, rateHz: number): Axis {
  const { limits, normalized } = group;
  const bounded = boundedIndex(group, element);
  const limitScale = limitConversion(group, element);
  const pair = limits?.position?.[index];
  const speed = limits?.velocity === undefined ? undefined : scalarAt(limits.velocity, bounded);
  return {
    group,
    element,
    ...placement(group, element),
    limits: pair && [pair[0] * limitScale, pair[1] * limitScale],
    speed: speed === undefined || element.unit === null ? undefined : speed * limitScale,
    full_scale: normalized === undefined ? undefined : scalarAt(normalized.full_scale, bounded),
    rate_hz: rateHz,
  };
}

/** Conversion from native to canonical numbers. A gripper's canonical number is its aperture: 0 closed, 1 open. */
function placement(group: CompleteGroup, { unit }: Element): Pick<Axis, "canonical" | "scale" | "offset"> {
  const { kind, aperture } = group;
  if (unit === null) return { canonical: "1", scale: 1, offset: 0 };
  if (kind === "gripper" && aperture !== undefined) {
    const { closed, open } = aperture;
    const scale = 1 / (open - closed);
    return { canonical: "1", scale, offset: -closed * scale };
  }
  return { canonical: conversion(unit).canonical, scale: nativeScale(group, unit), offset: 0 };
}

function stateAxis(axis: Axis, quantity: "position" | "velocity" | "effort"): StateAxis {
  switch (quantity) {
    case "position":
      return axisView(axis, quantity, { range: positionRange(axis), native: nativePosition(axis) });
    case "velocity":
      return axisView(axis, quantity, { range: around(axis.speed), native: nativeRate(axis) });
    case "effort":
      return axisView(axis, quantity, { range: undefined, native: undefined });
  }
}

function actionAxis(axis: Axis, action: "position" | "velocity" | "delta"): ActionAxis {
  const { speed, rate_hz: rateHz } = axis;
  const fullScale = canonicalFullScale(axis, action);
  switch (action) {
    case "position": {
      const view = axisView(axis, action, { range: positionRange(axis), native: nativePosition(axis) });
      return speed === undefined ? view : { ...view, max_step: rounded(speed / rateHz) };
    }
    case "velocity":
      return axisView(axis, action, { range: around(smaller(speed, fullScale)), native: nativeRate(axis, fullScale) });
    case "delta": {
      const step = speed === undefined ? undefined : speed / rateHz;
      const native = fullScale === undefined ? nativePosition(axis) : normalizedNative(fullScale);
      return axisView(axis, action, { range: around(smaller(step, fullScale)), native });
    }
  }
}

type Native = NonNullable<StateAxis["native"]>;

function axisView(
  { group, element, canonical }: Axis,
  quantity: StateQuantity | "delta",
  { range, native }: { readonly range: Pair | undefined; readonly native: Native | undefined },
): StateAxis {
  const [scale, offset] = [rounded(native?.scale ?? 1), rounded(native?.offset ?? 0)];
  return {
    name: `${group.name}.${element.name}.${quantity}`,
    unit: axisUnit(canonical, quantity),
    ...(range === undefined ? {} : { range: [rounded(range[0]), rounded(range[1])] }),
    ...(native === undefined || (scale === 1 && offset === 0) ? {} : { native: { unit: native.unit, scale, offset } }),
  };
}

function axisUnit(canonical: CanonicalUnit, quantity: StateQuantity | "delta"): StateAxis["unit"] {
  if (canonical === "1" || quantity === "position" || quantity === "delta") return canonical;
  if (quantity === "velocity") return `${canonical}/s`;
  return canonical === "rad" ? "N.m" : "N";
}

/** The limits, else the unit's range; none of a joint that turns without end. */
function positionRange({ limits, group, element, canonical }: Axis): Pair | undefined {
  if (limits !== undefined) return Number.isFinite(limits[0]) ? limits : undefined;
  if (group.kind === "gripper" || element.unit === "ratio" || element.unit === "percent") return [0, 1];
  if (canonical === "1") return [-1, 1];
  const isRotation = group.kind === "eef" && canonical === "rad";
  return isRotation ? [-Math.PI, Math.PI] : undefined;
}

/** @returns canonical units per second of a velocity, per step of a delta. */
function canonicalFullScale(
  { full_scale: fullScale, scale, group, rate_hz: rateHz }: Axis,
  action: string,
): number | undefined {
  if (fullScale === undefined) return undefined;
  const isPerStep = group.normalized?.per === "step";
  if (action === "velocity") return fullScale * scale * (isPerStep ? rateHz : 1);
  return (fullScale * scale) / (isPerStep ? 1 : rateHz);
}

function nativePosition({ element, scale, offset }: Axis): Native | undefined {
  return element.unit === null ? undefined : { unit: element.unit, scale, offset };
}

function nativeRate({ element, scale }: Axis, fullScale?: number): Native | undefined {
  if (fullScale !== undefined) return normalizedNative(fullScale);
  const unit = RATE_UNITS.find((rate) => rate === `${element.unit}/s`);
  return unit === undefined ? undefined : { unit, scale, offset: 0 };
}

function normalizedNative(scale: number): Native {
  return { unit: "normalized", scale, offset: 0 };
}

function around(bound: number | undefined): Pair | undefined {
  return bound === undefined ? undefined : [-bound, bound];
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}
