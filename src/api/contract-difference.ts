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

const MEMBERS = [
  "robot_type_id",
  "display_name",
  "topology",
  "action_semantics",
  "gripper",
  "control_rate_hz",
] as const;
/** Members of groups that no axis shows. */
const GROUP_MEMBERS = ["kind", "side", "zero", "frame", "rotation", "rotation_frame"] as const;
const CAMERA_MEMBERS = ["mount", "side", "width", "height", "fps", "rotation_degrees"] as const;

/** All changes; empty for equal contracts. Vectors first: a changed order moves the wrong joint. */
export function diffContracts(before: Contract, after: Contract): readonly ContractChange[] {
  return [
    ...diffAxes("action_axes", before.action_axes, after.action_axes),
    ...diffAxes("state_axes", before.state_axes, after.state_axes),
    ...MEMBERS.filter((member) => before[member] !== after[member]).map((member): ContractChange => {
      const what = `was ${before[member] ?? "not given"}, is ${after[member] ?? "not given"}`;
      return { kind: "robot", where: member, what };
    }),
    ...diffParts("group", before.groups.map(groupPart), after.groups.map(groupPart)),
    ...diffParts("camera", before.cameras.map(cameraPart), after.cameras.map(cameraPart)),
  ];
}

type Axis = StateAxis & Pick<ActionAxis, "max_step">;

/** Indexes from 0, as programs count vector elements. */
function diffAxes(
  vector: "action_axes" | "state_axes",
  before: readonly Axis[],
  after: readonly Axis[],
): readonly ContractChange[] {
  const [old, now] = [before.map(({ name }) => name), after.map(({ name }) => name)];
  const change = (kind: ContractChange["kind"], name: string, what: string): ContractChange => ({
    kind,
    where: `${vector} ${name}`,
    what,
  });
  const added = after.filter(({ name }) => !old.includes(name));
  const removed = old.filter((name) => !now.includes(name));
  return [
    ...diffPlaces(old, now).map(([name, what]) => change("order", name, what)),
    ...removed.map((name) => change("removed", name, `is gone; it was at index ${old.indexOf(name)}`)),
    ...added.map((axis) => {
      const what = `is new, at index ${now.indexOf(axis.name)}: ${rangeText(axis)}, native ${axis.native?.unit ?? axis.unit}`;
      return change("added", axis.name, what);
    }),
    ...before.flatMap((axis) => {
      const same = after.find(({ name }) => name === axis.name);
      const changes = same === undefined ? [] : diffAxis(axis, same);
      return changes.flatMap(([kind, what]) => (what === null ? [] : [change(kind, axis.name, what)]));
    }),
  ];
}

/** Null for what is the same. */
type Difference = readonly [kind: ContractChange["kind"], what: string | null];

function diffAxis(before: Axis, after: Axis): readonly Difference[] {
  const stepOf = (axis: Axis) => (axis.max_step === undefined ? "unlimited" : withUnit(axis.max_step, axis));
  const isSameStep = before.max_step === after.max_step;
  return [
    ["unit", before.unit === after.unit ? null : `unit ${before.unit} is now ${after.unit}`],
    diffNative(before, after),
    ["range", diffRange(before, after)],
    ["step", isSameStep ? null : `largest step was ${stepOf(before)}, is ${stepOf(after)}`],
  ];
}

function diffNative(before: Axis, after: Axis): Difference {
  const [old, now] = [nativeOf(before), nativeOf(after)];
  if (old.unit === now.unit && old.scale === now.scale && old.offset === now.offset) return ["unit", null];
  const formulas = `was ${formulaOf(old)}, is ${formulaOf(now)}`;
  const isSameWay = Math.sign(old.scale) === Math.sign(now.scale);
  if (isSameWay) return ["unit", `native numbers have another scale; ${formulas}`];
  const [was, is] = old.scale > 0 ? ["up", "down"] : ["down", "up"];
  return ["direction", `direction flipped: growing numbers moved it ${was}, now ${is}; ${formulas}`];
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

/** How a native number becomes a canonical one: `0.0174532925199 × deg`. */
export function formulaOf({ unit, scale, offset }: Native): string {
  const scaled = scale === 1 ? unit : `${scale} × ${unit}`;
  if (offset === 0) return scaled;
  return `${scaled} ${offset < 0 ? "−" : "+"} ${Math.abs(offset)}`;
}

function diffRange(before: Axis, after: Axis): string | null {
  const [old, now] = [before.range, after.range];
  if (old === undefined && now === undefined) return null;
  if (old === undefined || now === undefined || before.unit !== after.unit) {
    return `range was ${rangeText(before)}, is ${rangeText(after)}`;
  }
  const sides = [
    { side: "lower", was: old[0], is: now[0], isWider: now[0] < old[0] },
    { side: "upper", was: old[1], is: now[1], isWider: now[1] > old[1] },
  ];
  const changed = sides.filter(({ was, is }) => was !== is);
  if (changed.length === 0) return null;
  return changed
    .map(({ side, was, is, isWider }) => {
      return `${side} limit was ${was}, is ${withUnit(is, after)} (${isWider ? "wider" : "narrower"})`;
    })
    .join("; ");
}

/** `-1.5 … 1.5 rad`, or `unlimited`. */
export function rangeText({ range, unit }: Pick<Axis, "range" | "unit">): string {
  if (range === undefined) return "unlimited";
  return withUnit(`${range[0]} … ${range[1]}`, { unit });
}

/** Dimensionless numbers are shown without unit. */
function withUnit(numbers: number | string, { unit }: Pick<Axis, "unit">): string {
  return unit === "1" ? `${numbers}` : `${numbers} ${unit}`;
}

/** A group or camera. */
interface Part {
  readonly name: string;
  /** By name, those that are compared. */
  readonly members: readonly (readonly [name: string, value: string])[];
  /** Of a new one, after "is new". */
  readonly description: string;
}

function groupPart(group: Contract["groups"][number]): Part {
  const members = GROUP_MEMBERS.map((member) => [member, group[member] ?? "none"] as const);
  return { name: group.name, members, description: `, of kind ${group.kind}` };
}

function cameraPart(camera: Contract["cameras"][number]): Part {
  const { role, width, height, fps } = camera;
  const members = CAMERA_MEMBERS.map((member) => [member, String(camera[member] ?? "none")] as const);
  return { name: role, members, description: `: ${width}×${height}, ${fps} fps` };
}

function diffParts(
  kind: "group" | "camera",
  before: readonly Part[],
  after: readonly Part[],
): readonly ContractChange[] {
  const [old, now] = [before.map(({ name }) => name), after.map(({ name }) => name)];
  const change = (name: string, what: string): ContractChange => ({ kind, where: `${kind}s ${name}`, what });
  const changed = after.flatMap(({ name, members, description }) => {
    const was = before.find((each) => each.name === name);
    if (was === undefined) return [change(name, `is new${description}`)];
    const values = new Map(was.members);
    return members
      .filter(([member, value]) => values.get(member) !== value)
      .map(([member, value]) => change(name, `${member} was ${values.get(member)}, is ${value}`));
  });
  return [
    ...old.filter((name) => !now.includes(name)).map((name) => change(name, "is gone")),
    ...changed,
    ...diffPlaces(old, now).map(([name, what]) => change(name, what)),
  ];
}

/** Names in both lists whose order among each other differs, and in which way. */
function diffPlaces(before: readonly string[], after: readonly string[]): readonly (readonly [string, string])[] {
  const now = after.filter((name) => before.includes(name));
  return before
    .filter((name) => after.includes(name))
    .filter((name, index) => now[index] !== name)
    .map((name) => [name, `was at index ${before.indexOf(name)}, is at index ${after.indexOf(name)}`]);
}
