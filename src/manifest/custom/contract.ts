/**
 * Custom robot types: a manifest that describes its robot itself, or extends a catalog type, is normalized to a contract, version 1, which
 * api/contract.ts defines.
 *
 * keys.ts has each key (stage 3 of the specification), robot.ts adds the base's values (4), fit.ts checks each group against its kind (5),
 * rules.ts checks values and the whole robot (6). A stage with an error is the last one. This file makes the contract (sections 7 and 8).
 * Loaded for such manifests only: a robot of a catalog type boots without it.
 */
import canonicalize from "canonicalize";

import type { RobotContract } from "../../api/contract.ts";
import { CONTRACT_SCHEMA, RATE_UNITS } from "../../api/robot-terms.ts";
import type { FindingList } from "../../documents/findings.ts";
import { sha256Hex } from "../../platform/crypto.ts";
import { type CatalogRow, CATALOG_ROWS } from "../catalog/rows.ts";
import { checkFit } from "./fit.ts";
import {
  actionOf,
  type CanonicalUnit,
  commandedGrippers,
  type CompleteGroup,
  CONVERSIONS,
  type Element,
  elementsOf,
  limitConversion,
  nativeScale,
  rounded,
  scalarAt,
  sideOf,
  stateOf,
} from "./group.ts";
import type { ActionSemantics, Body, Camera, Pair, StateQuantity } from "./keys.ts";
import { baseGroup, completeRobot, isInherited, pathOf, type Robot } from "./robot.ts";
import { checkRules } from "./rules.ts";

export { CUSTOM_MANIFEST } from "./keys.ts";

export type Contract = RobotContract;
export type StateAxis = Contract["state_axes"][number];
export type ActionAxis = Contract["action_axes"][number];

interface CustomType extends Body {
  readonly robot_type_id: string;
  readonly display_name: string | null;
}

interface DescribedRobot {
  readonly contract: Contract;
  /** The extended type, where the unit of an arm is from it. */
  readonly unit_from: string | null;
}

/** Stages 4 to 6 and the contract; null when a finding is an error. */
export function describeRobot(custom: CustomType, findings: FindingList): DescribedRobot | null {
  const { robot_type_id: typeId, display_name: displayName, ...body } = custom;
  const robot = completeRobot(typeId, body, CATALOG_ROWS, findings);
  if (robot === undefined || findings.hasError) return null;
  checkFit(robot, findings);
  if (findings.hasError) return null;
  checkRules(robot, findings);
  if (findings.hasError) return null;
  const contract = normalize(robot, displayName);
  if (!isFinite(contract)) {
    const message =
      "numbers this small leave nothing of others, or make them too large: look at limits, apertures and the rate";
    findings.error("not_finite", pathOf(robot, "groups"), message);
    return null;
  }
  const isUnitInherited = robot.groups.some(
    (group) => group.kind === "arm" && group.unit !== undefined && isInherited(group, "unit"),
  );
  return { contract, unit_from: isUnitInherited ? (robot.base_id ?? null) : null };
}

/** A tiny rate or aperture makes a quotient infinite, and a tiny value rounds to 0. JSON cannot carry an infinite number. */
function isFinite({ state_axes: stateAxes, action_axes: actionAxes }: Contract): boolean {
  const axes: readonly ActionAxis[] = [...stateAxes, ...actionAxes];
  return axes.every(
    ({ range: [low, high] = [0, 1], native, max_step: maxStep = 1 }) =>
      [low, high, native?.scale ?? 1, native?.offset ?? 0, maxStep].every(Number.isFinite) &&
      low < high &&
      native?.scale !== 0 &&
      maxStep > 0,
  );
}

/** The contract as canonical JSON (RFC 8785): equal contracts give equal bytes. */
export function contractText(contract: Contract): string {
  const text = canonicalize(contract);
  if (text === undefined) throw new TypeError("A contract is always an object");
  return text;
}

/** `sha256:` and the hex digest of the canonical text. Used locally to detect changes, and not sent to the service. */
export function contractDigest(contract: Contract): string {
  return `sha256:${sha256Hex(contractText(contract))}`;
}

/** The same robot gives the same contract, whatever the spelling of its manifest. */
function normalize(robot: Robot, displayName: string | null): Contract {
  const { groups, action_semantics: actionSemantics } = robot;
  const { length: grippers } = commandedGrippers(groups, actionSemantics);
  return {
    schema: CONTRACT_SCHEMA,
    robot_type_id: robot.robot_type_id,
    ...(displayName === null ? {} : { display_name: displayName }),
    topology: robot.topology,
    action_semantics: actionSemantics,
    gripper: robot.gripper ?? (grippers > 0 ? "continuous" : "none"),
    control_rate_hz: rounded(robot.control_rate_hz),
    groups: groups.map(groupView),
    ...axesOf(groups, robot),
    cameras: robot.cameras.map(cameraView),
  };
}

function groupView(group: CompleteGroup): Contract["groups"][number] {
  const { name, kind, zero, frame, rotation, rotation_frame: rotationFrame } = group;
  const side = sideOf(group);
  return {
    name,
    kind,
    ...(side === "none" ? {} : { side }),
    ...(zero === undefined ? {} : { zero }),
    ...(frame === undefined ? {} : { frame }),
    ...(rotation === undefined ? {} : { rotation }),
    ...(rotationFrame === undefined ? {} : { rotation_frame: rotationFrame }),
  };
}

function cameraView({ side, ...camera }: Camera): Contract["cameras"][number] {
  const { role, mount, width, height, fps } = camera;
  const on = mount === "wrist" ? sideOf({ name: role, side }) : "none";
  const numbers = { width: rounded(width), height: rounded(height), fps: rounded(fps) };
  return { ...camera, ...numbers, ...(on === "none" ? {} : { side: on }) };
}

/** Both vectors. */
export type Axes = Pick<Contract, "state_axes" | "action_axes">;

/** The vectors in the contract of a robot that extends this type, without limits that the catalog does not know. */
export function catalogAxes(row: CatalogRow): Axes {
  return axesOf(row.groups.map(baseGroup), row);
}

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

function axesOf(
  groups: readonly CompleteGroup[],
  robot: { readonly action_semantics: ActionSemantics; readonly control_rate_hz: number },
): Axes {
  const withAxes = groups.map((group) => ({
    group,
    action: actionOf(group, robot.action_semantics),
    axes: elementsOf(group).map((element, index) => axisOf(group, element, index, robot.control_rate_hz)),
  }));
  return {
    state_axes: withAxes.flatMap(({ group, axes }) =>
      stateOf(group).flatMap((quantity) => axes.map((axis) => stateAxis(axis, quantity))),
    ),
    action_axes: withAxes.flatMap(({ action, axes }) =>
      action === "none" ? [] : axes.map((axis) => actionAxis(axis, action)),
    ),
  };
}

function axisOf(group: CompleteGroup, element: Element, index: number, rateHz: number): Axis {
  const { limits, normalized } = group;
  const limitScale = limitConversion(group, element);
  const pair = limits?.position?.[index];
  const speed = limits?.velocity === undefined ? undefined : scalarAt(limits.velocity, index);
  return {
    group,
    element,
    ...placement(group, element),
    limits: pair && [pair[0] * limitScale, pair[1] * limitScale],
    speed: speed === undefined || element.unit === null ? undefined : speed * limitScale,
    full_scale: normalized === undefined ? undefined : scalarAt(normalized.full_scale, index),
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
  return { canonical: CONVERSIONS[unit].canonical, scale: nativeScale(group, unit), offset: 0 };
}

function stateAxis(axis: Axis, quantity: StateQuantity): StateAxis {
  switch (quantity) {
    case "position":
      return axisView(axis, quantity, positionRange(axis), nativePosition(axis));
    case "velocity":
      return axisView(axis, quantity, around(axis.speed), nativeRate(axis));
    case "effort":
      return axisView(axis, quantity, undefined, undefined);
  }
}

function actionAxis(axis: Axis, action: "position" | "velocity" | "delta"): ActionAxis {
  const { speed, rate_hz: rateHz } = axis;
  const step = speed === undefined ? undefined : speed / rateHz;
  const fullScale = canonicalFullScale(axis, action);
  const normalized: Native | undefined =
    fullScale === undefined ? undefined : { unit: "normalized", scale: fullScale, offset: 0 };
  switch (action) {
    case "position": {
      const view = axisView(axis, action, positionRange(axis), nativePosition(axis));
      return step === undefined ? view : { ...view, max_step: rounded(step) };
    }
    case "velocity":
      return axisView(axis, action, around(smaller(speed, fullScale)), normalized ?? nativeRate(axis));
    case "delta":
      return axisView(axis, action, around(smaller(step, fullScale)), normalized ?? nativePosition(axis));
  }
}

type Native = NonNullable<StateAxis["native"]>;

function axisView(
  { group, element, canonical }: Axis,
  quantity: StateQuantity | "delta",
  range: Pair | undefined,
  native: Native | undefined,
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

function nativeRate({ element, scale }: Axis): Native | undefined {
  const unit = RATE_UNITS.find((rate) => rate === `${element.unit}/s`);
  return unit === undefined ? undefined : { unit, scale, offset: 0 };
}

function around(bound: number | undefined): Pair | undefined {
  return bound === undefined ? undefined : [-bound, bound];
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}
