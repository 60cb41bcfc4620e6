/** Changes between two contracts, worded for the operator who checks them before the robot moves. */
import type { RobotContract } from "./contract.ts";

type Contract = RobotContract;
type StateAxis = Contract["state_axes"][number];
type ActionAxis = Contract["action_axes"][number];

interface ContractChange {
  /** For programs. */
  readonly kind: "robot" | "order" | "added" | "removed" | "direction" | "unit" | "range" | "step" | "group" | "camera";
  /** Where in the contract: `action_axes arm.elbow.position`, `cameras wrist`, or a top-level member. */
  readonly where: string;
  /** A sentence without its subject. */
  readonly what: string;
}

/** All changes; empty for equal contracts. Vectors first: a changed order moves the wrong joint. */
export function diffContracts(before: Contract, after: Contract): readonly ContractChange[] {
  return [
    ...diffAxes("action_axes", before.action_axes, after.action_axes),
    ...diffAxes("state_axes", before.state_axes, after.state_axes),
    ...diffMembers(before, after),
    ...diffGroups(before, after),
    ...diffCameras(before, after),
  ];
}

type Vector = "action_axes" | "state_axes";
type Axis = StateAxis & Pick<ActionAxis, "max_step">;

/** Indexes from 0, as programs count vector elements. */
function diffAxes(vector: Vector, before: readonly Axis[], after: readonly Axis[]): readonly ContractChange[] {
  const [old, now] = [before.map(({ name }) => name), after.map(({ name }) => name)];
  const change = (kind: ContractChange["kind"], name: string, what: string): ContractChange => ({
    kind,
    where: `${vector} ${name}`,
    what,
  });
  return [
    ...diffPlaces(old, now).map(({ name, what }) => change("order", name, what)),
    ...removedFrom(old, now).map((name) => change("removed", name, `is gone; it was at index ${old.indexOf(name)}`)),
    ...after
      .filter(({ name }) => !old.includes(name))
      .map((axis) => change("added", axis.name, `is new, at index ${now.indexOf(axis.name)}: ${describeAxis(axis)}`)),
    ...before.flatMap((axis) => {
      const same = after.find(({ name }) => name === axis.name);
      return same === undefined ? [] : diffAxis(`${vector} ${axis.name}`, axis, same);
    }),
  ];
}

function diffAxis(where: string, before: Axis, after: Axis): readonly ContractChange[] {
  const changes: (ContractChange | null)[] = [
    before.unit === after.unit ? null : { kind: "unit", where, what: `unit ${before.unit} is now ${after.unit}` },
    diffNative(where, before, after),
    diffRange(where, before, after),
    diffStep(where, before, after),
  ];
  return changes.filter((change) => change !== null);
}

function diffNative(where: string, before: Axis, after: Axis): ContractChange | null {
  const [old, now] = [nativeOf(before), nativeOf(after)];
  if (old.unit === now.unit && old.scale === now.scale && old.offset === now.offset) return null;
  if (Math.sign(old.scale) !== Math.sign(now.scale)) {
    const what = `direction flipped: growing numbers moved it ${wayOf(old.scale)}, now ${wayOf(now.scale)}; ${formulas(old, now)}`;
    return { kind: "direction", where, what };
  }
  return { kind: "unit", where, what: `native numbers have another scale; ${formulas(old, now)}` };
}

interface Native {
  readonly unit: string;
  readonly scale: number;
  readonly offset: number;
}

function nativeOf({ native, unit }: Axis): Native {
  // The formula needs a name also for a number without unit.
  return native ?? { unit: unit === "1" ? "native" : unit, scale: 1, offset: 0 };
}

function wayOf(scale: number): string {
  return scale > 0 ? "up" : "down";
}

function formulas(before: Native, after: Native): string {
  return `was ${formulaOf(before)}, is ${formulaOf(after)}`;
}

/** How a native number becomes a canonical one: `0.0174532925199 × deg`. */
export function formulaOf({ unit, scale, offset }: Native): string {
  const scaled = scale === 1 ? unit : `${scale} × ${unit}`;
  if (offset === 0) return scaled;
  return `${scaled} ${offset < 0 ? "−" : "+"} ${Math.abs(offset)}`;
}

function diffRange(where: string, before: Axis, after: Axis): ContractChange | null {
  const [old, now] = [before.range, after.range];
  if (old === undefined && now === undefined) return null;
  if (old === undefined || now === undefined || before.unit !== after.unit) {
    return { kind: "range", where, what: `range was ${rangeText(before)}, is ${rangeText(after)}` };
  }
  const sides: readonly (string | null)[] = [
    old[0] === now[0]
      ? null
      : `lower limit was ${old[0]}, is ${withUnit(now[0], after)} (${now[0] < old[0] ? "wider" : "narrower"})`,
    old[1] === now[1]
      ? null
      : `upper limit was ${old[1]}, is ${withUnit(now[1], after)} (${now[1] > old[1] ? "wider" : "narrower"})`,
  ];
  const what = sides.filter((side) => side !== null).join("; ");
  return what === "" ? null : { kind: "range", where, what };
}

/** `-1.5 … 1.5 rad`, or `unlimited`. */
export function rangeText({ range, unit }: Pick<Axis, "range" | "unit">): string {
  if (range === undefined) return "unlimited";
  return withUnit(`${range[0]} … ${range[1]}`, { unit });
}

/** Dimensionless numbers are shown without unit. */
export function withUnit(numbers: number | string, { unit }: Pick<Axis, "unit">): string {
  return unit === "1" ? `${numbers}` : `${numbers} ${unit}`;
}

function diffStep(where: string, before: Axis, after: Axis): ContractChange | null {
  if (before.max_step === after.max_step) return null;
  const text = (axis: Axis) => (axis.max_step === undefined ? "unlimited" : withUnit(axis.max_step, axis));
  return { kind: "step", where, what: `largest step was ${text(before)}, is ${text(after)}` };
}

function describeAxis(axis: Axis): string {
  return `${rangeText(axis)}, native ${axis.native?.unit ?? axis.unit}`;
}

const MEMBERS = [
  "robot_type_id",
  "display_name",
  "topology",
  "action_semantics",
  "gripper",
  "control_rate_hz",
] as const;

function diffMembers(before: Contract, after: Contract): readonly ContractChange[] {
  return MEMBERS.filter((member) => before[member] !== after[member]).map((member) => ({
    kind: "robot",
    where: member,
    what: `was ${before[member] ?? "not given"}, is ${after[member] ?? "not given"}`,
  }));
}

/** Changes of groups that no axis shows: side, zero, frame, rotation and what it is relative to; and groups without axes. */
function diffGroups({ groups: before }: Contract, { groups: after }: Contract): readonly ContractChange[] {
  return diffParts(
    { kind: "group", list: "groups", nameOf: ({ name }) => name, members: GROUP_MEMBERS },
    before,
    after,
    ({ kind }) => `, of kind ${kind}`,
  );
}

const GROUP_MEMBERS = ["kind", "side", "zero", "frame", "rotation", "rotation_frame"] as const;

function diffCameras({ cameras: before }: Contract, { cameras: after }: Contract): readonly ContractChange[] {
  return diffParts(
    { kind: "camera", list: "cameras", nameOf: ({ role }) => role, members: CAMERA_MEMBERS },
    before,
    after,
    ({ width, height, fps }) => `: ${width}×${height}, ${fps} fps`,
  );
}

const CAMERA_MEMBERS = ["mount", "side", "width", "height", "fps", "rotation_degrees"] as const;

interface Parts<Part extends object> {
  readonly kind: "group" | "camera";
  readonly list: string;
  readonly nameOf: (part: Part) => string;
  readonly members: readonly (keyof Part)[];
}

/** @param describe a new part, after "is new". */
function diffParts<Part extends object>(
  { kind, list, nameOf, members }: Parts<Part>,
  before: readonly Part[],
  after: readonly Part[],
  describe: (part: Part) => string,
): readonly ContractChange[] {
  const [old, now] = [before.map(nameOf), after.map(nameOf)];
  const change = (name: string, what: string): ContractChange => ({ kind, where: `${list} ${name}`, what });
  const changed = after.flatMap((part) => {
    const name = nameOf(part);
    const was = before.find((each) => nameOf(each) === name);
    if (was === undefined) return [change(name, `is new${describe(part)}`)];
    return members
      .filter((member) => was[member] !== part[member])
      .map((member) => change(name, `${String(member)} was ${was[member] ?? "none"}, is ${part[member] ?? "none"}`));
  });
  return [
    ...removedFrom(old, now).map((name) => change(name, "is gone")),
    ...changed,
    ...diffPlaces(old, now).map(({ name, what }) => change(name, what)),
  ];
}

function removedFrom(before: readonly string[], after: readonly string[]): readonly string[] {
  return before.filter((name) => !after.includes(name));
}

/** Names in both lists whose order among each other differs. */
function diffPlaces(
  before: readonly string[],
  after: readonly string[],
): readonly { readonly name: string; readonly what: string }[] {
  const now = after.filter((name) => before.includes(name));
  return before
    .filter((name) => after.includes(name))
    .filter((name, index) => now[index] !== name)
    .map((name) => ({ name, what: `was at index ${before.indexOf(name)}, is at index ${after.indexOf(name)}` }));
}
