/** Changes between two contracts, worded for the operator who checks them before the robot moves. */
import type { RobotContract } from "../api/contract.ts";

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
    ...diffLists("action_axes", before.action_axes, after.action_axes, AXES),
    ...diffLists("state_axes", before.state_axes, after.state_axes, AXES),
    ...MEMBERS.filter((member) => before[member] !== after[member]).map((member): ContractChange => {
      const what = `was ${before[member] ?? "not given"}, is ${after[member] ?? "not given"}`;
      return { kind: "robot", where: member, what };
    }),
    ...diffLists("groups", before.groups, after.groups, GROUPS),
    ...diffLists("cameras", before.cameras.map(withName), after.cameras.map(withName), CAMERAS),
  ];
}

type Kind = ContractChange["kind"];
type Axis = StateAxis & Pick<ActionAxis, "max_step">;
type Group = Contract["groups"][number];
type Camera = Contract["cameras"][number];

/** How the parts of a list differ. Indexes count from 0, as programs count vector elements. */
interface Comparison<Part> {
  readonly kinds: Readonly<Record<"order" | "added" | "removed", Kind>>;
  readonly added: (part: Part, index: number) => string;
  readonly removed: (index: number) => string;
  /** Of a part that is in both lists. A null text for what is the same. */
  readonly changed: (before: Part, after: Part) => readonly Difference[];
}

const AXES: Comparison<Axis> = {
  kinds: { order: "order", added: "added", removed: "removed" },
  added: (axis, index) => `is new, at index ${index}: ${rangeText(axis)}, native ${axis.native?.unit ?? axis.unit}`,
  removed: (index) => `is gone; it was at index ${index}`,
  changed: diffAxis,
};

const GROUPS: Comparison<Group> = {
  kinds: { order: "group", added: "group", removed: "group" },
  added: ({ kind }) => `is new, of kind ${kind}`,
  removed: () => "is gone",
  changed: (before, after) =>
    GROUP_MEMBERS.map((member) => ["group", memberChange(member, before[member], after[member])]),
};

const CAMERAS: Comparison<Camera> = {
  kinds: { order: "camera", added: "camera", removed: "camera" },
  added: ({ width, height, fps }) => `is new: ${width}×${height}, ${fps} fps`,
  removed: () => "is gone",
  changed: (before, after) =>
    CAMERA_MEMBERS.map((member) => ["camera", memberChange(member, before[member], after[member])]),
};

function withName(camera: Camera): Camera & { readonly name: string } {
  return { ...camera, name: camera.role };
}

function memberChange(member: string, before: string | number = "none", after: string | number = "none") {
  return before === after ? null : `${member} was ${before}, is ${after}`;
}

function diffLists<Part>(
  list: string,
  before: readonly (Part & { readonly name: string })[],
  after: readonly (Part & { readonly name: string })[],
  { kinds, added, removed, changed }: Comparison<Part>,
): readonly ContractChange[] {
  const [old, now] = [before.map(({ name }) => name), after.map(({ name }) => name)];
  const orderNow = now.filter((name) => old.includes(name));
  const moved = old.filter((name) => now.includes(name)).filter((name, index) => orderNow[index] !== name);
  const change = (kind: Kind, name: string, what: string) => ({ kind, where: `${list} ${name}`, what });
  return [
    ...moved.map((name) =>
      change(kinds.order, name, `was at index ${old.indexOf(name)}, is at index ${now.indexOf(name)}`),
    ),
    ...old.filter((name) => !now.includes(name)).map((name) => change(kinds.removed, name, removed(old.indexOf(name)))),
    ...after
      .filter(({ name }) => !old.includes(name))
      .map((part) => change(kinds.added, part.name, added(part, now.indexOf(part.name)))),
    ...before.flatMap((part) => {
      const same = after.find(({ name }) => name === part.name);
      const differences = same === undefined ? [] : changed(part, same);
      return differences.flatMap(([kind, what]) => (what === null ? [] : [change(kind, part.name, what)]));
    }),
  ];
}

/** Null for what is the same. */
type Difference = readonly [kind: Kind, what: string | null];

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
export function rangeText({ range, unit }: Pick<Axis, "range"> & { readonly unit: string }): string {
  if (range === undefined) return "unlimited";
  return withUnit(`${range[0]} … ${range[1]}`, { unit });
}

/** Dimensionless numbers are shown without unit. */
function withUnit(numbers: number | string, { unit }: { readonly unit: string }): string {
  return unit === "1" ? `${numbers}` : `${numbers} ${unit}`;
}
