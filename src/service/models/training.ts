/**
 * How a robot differs from those that a checkpoint was trained on. Pure. What is unknown of either counts as equal; texts of robots are
 * bounded and escaped.
 */
import type { Difference } from "../../api/differences.ts";
import { diffDeviceLines } from "../../differences/contents.ts";
import { formulaOf, rangeText } from "../../differences/contract.ts";
import { diffParts, withContents } from "../../differences/differences.ts";
import { escapeInvisible, shown } from "../../documents/texts.ts";
import { type Axis, type Equipment, type EquippedCamera, isFromContract, knownEquipment } from "../robots/index.ts";
import { type Fact, FACTS, type Reference, type Training } from "./requirements.ts";

/** The properties of a robot that requirements are compared with. */
export interface RobotTraits {
  readonly robot_type_id: string;
  /** What its contract and its parts say; null for a robot that registered by its type alone. */
  readonly equipment: Equipment | null;
}

/** One fact in which a robot differs from a reference. */
export interface Deviation {
  readonly fact: Fact;
  readonly reference: Reference;
  /** Follows "was trained on R,". */
  readonly clause: string;
  /** A file of the robot itself that changed, while it is not known what in it; else null. */
  readonly part: Difference | null;
}

/** Differences that refuse a robot, and those that are only said. */
export interface Deviations {
  readonly blockers: readonly Deviation[];
  readonly warnings: readonly Deviation[];
}

/** Grippers are calibrated one by one: so much may scales differ. Other units differ by far more. */
const SCALE_TOLERANCE = 0.1;
const ROUNDING = 1e-9;
/** Of each vector, and changes of facts, that are compared: a contract of another kind may have 100,000 axes. */
const AXES_MAXIMUM = 512;
const CHANGES_MAXIMUM = 256;
/** Characters of a hash that are shown. */
const HASH_LENGTH = 8;
/** Details of a part that are named. */
const DETAILS_MAXIMUM = 3;

/**
 * The differences from the reference that is most like the robot. A robot that is a reference itself is also compared with itself at that
 * time, part by part.
 */
export function deviationsOf(robot: RobotTraits, training: Training): Deviations {
  const equipment = knownEquipment(robot.robot_type_id, robot.equipment);
  const says = sourceOf(robot);
  const own = training.references.filter(({ robot_id: id }) => id !== null && id === equipment.self?.robot_id);
  const alike = training.references.map((reference) => {
    const changes = [...factChanges(reference.equipment, equipment, training.tolerances).take(CHANGES_MAXIMUM)];
    const facts = changes.map(([fact, then, now]) => deviation(reference, fact, `where ${then}; ${says} ${now}`));
    return split(training, own.length > 0 ? facts : [...facts, ...deviceDeviations(reference, equipment)]);
  });
  const itself = own.map((reference) => split(training, partDeviations(reference, equipment)));
  const [nearest, former] = [fewest(alike), fewest(itself)];
  return {
    blockers: [...nearest.blockers, ...former.blockers],
    warnings: [...nearest.warnings, ...former.warnings],
  };
}

function sourceOf({ robot_type_id: robotTypeId, equipment }: RobotTraits): string {
  const hasContract = equipment !== null && isFromContract(equipment);
  return hasContract ? "the robot's manifest says" : `the robot's type ${shown(robotTypeId)} says`;
}

function split({ require, warn }: Training, deviations: readonly Deviation[]): Deviations {
  const ordered = deviations.toSorted((one, other) => FACTS.indexOf(one.fact) - FACTS.indexOf(other.fact));
  return {
    blockers: ordered.filter(({ fact }) => require.includes(fact)),
    warnings: ordered.filter(({ fact }) => warn.includes(fact)),
  };
}

function fewest(each: readonly Deviations[]): Deviations {
  const ranked = each.toSorted((one, other) => {
    return one.blockers.length - other.blockers.length || one.warnings.length - other.warnings.length;
  });
  return ranked[0] ?? { blockers: [], warnings: [] };
}

function deviation(reference: Reference, fact: Fact, clause: string, part: Difference | null = null): Deviation {
  return { fact, reference, clause, part };
}

/** A predicate with the model as its subject. */
export function wordDeviation({ reference, clause }: Deviation): string {
  return `was trained on ${nameOf(reference)}, ${clause}`;
}

/** `cell-4 (sha256:b1fd3c4d…)`, a file, or a type. */
export function nameOf({ name, digest }: Pick<Reference, "name" | "digest">): string {
  return digest === null ? shown(name) : `${shown(name)} (${digest.slice(0, "sha256:".length + HASH_LENGTH)}…)`;
}

/** A fact, what it was at training, and what it is: halves of a sentence. */
type Change = readonly [fact: Fact, then: string, now: string];

function* factChanges(then: Equipment, now: Equipment, tolerances: Training["tolerances"]): Generator<Change> {
  yield* vectorChanges("state", then.state_axes, now.state_axes, tolerances);
  yield* vectorChanges("action", then.action_axes, now.action_axes, tolerances);
  for (const role of then.camera_roles ?? []) {
    if (now.camera_roles?.includes(role) === false) {
      yield ["camera_roles", `there is a camera ${shown(role)}`, "that there is none"];
    }
  }
  const cameras = new Map((now.cameras ?? []).map((camera) => [camera.role, camera]));
  for (const camera of then.cameras ?? []) {
    const same = cameras.get(camera.role);
    if (same !== undefined) yield* cameraChanges(camera, same);
  }
  const [was, is] = [then.control_rate_hz, now.control_rate_hz];
  if (was !== undefined && is !== undefined && Math.abs(was - is) > ROUNDING * was) {
    yield ["control_rate", `the control rate is ${was} Hz`, `${is} Hz`];
  }
}

function* vectorChanges(
  vector: "state" | "action",
  then: readonly Axis[] | null,
  now: readonly Axis[] | null,
  tolerances: Training["tolerances"],
): Iterable<Change> {
  if (then === null || now === null) return;
  const [was, is] = [indexed(then), indexed(now)];
  for (const name of was.keys()) {
    if (!is.has(name)) yield ["axes", `there is the ${vector} axis ${shown(name)}`, "that there is none"];
  }
  for (const name of is.keys()) {
    if (!was.has(name)) yield ["axes", `there is no ${vector} axis ${shown(name)}`, "that there is one"];
  }
  const order = [...is.keys()].filter((name) => was.has(name));
  const moved = [...was.keys()].filter((name) => is.has(name)).find((name, index) => order[index] !== name);
  for (const [name, { index, axis }] of was) {
    const same = is.get(name);
    if (same === undefined) continue;
    const what = `the ${vector} axis ${shown(name)}`;
    if (name === moved) yield ["order", `${what} is at index ${index}`, `index ${same.index}`];
    yield* axisChanges(what, axis, same.axis, tolerances);
  }
}

function indexed(axes: readonly Axis[]) {
  return new Map(axes.slice(0, AXES_MAXIMUM).map((axis, index) => [axis.name, { axis, index }]));
}

function* axisChanges(what: string, then: Axis, now: Axis, tolerances: Training["tolerances"]): Iterable<Change> {
  if (then.unit !== null && now.unit !== null && then.unit !== now.unit) {
    yield ["units", `${what} is in ${shown(then.unit)}`, shown(now.unit)];
    return;
  }
  const [was, is] = [then.native, now.native];
  if (was !== undefined && is !== undefined) {
    const ratio = Math.abs(is.scale / was.scale);
    const isScaled = Math.max(ratio, 1 / ratio) > 1 + SCALE_TOLERANCE;
    if (was.unit !== is.unit || isScaled) yield ["units", `${what} is ${formulaOf(was)}`, formulaOf(is)];
    if (Math.sign(was.scale) !== Math.sign(is.scale)) {
      yield ["signs", `${what} grows the other way, by ${formulaOf(was)}`, formulaOf(is)];
    }
  }
  const unit = then.unit ?? "1";
  const tolerance = (tolerances[unit] ?? 0) + ROUNDING;
  if (then.range !== undefined && now.range !== undefined && !isNear(then.range, now.range, tolerance)) {
    yield ["ranges", `the range of ${what} is ${rangeOf(then.range, unit)}`, rangeOf(now.range, unit)];
  }
}

type Range = NonNullable<Axis["range"]> | null;

function isNear(then: Range, now: Range, tolerance: number): boolean {
  if (then === null || now === null) return then === now;
  return Math.abs(then[0] - now[0]) <= tolerance && Math.abs(then[1] - now[1]) <= tolerance;
}

function rangeOf(range: Range, unit: string): string {
  return range === null ? "unlimited" : rangeText({ range, unit });
}

function* cameraChanges(then: EquippedCamera, now: EquippedCamera): Iterable<Change> {
  const what = `the camera ${shown(then.role)}`;
  for (const [member, word] of PLACEMENT) {
    const [was, is] = [then[member], now[member]];
    if (was === undefined || is === undefined || was === is) continue;
    yield ["camera_mounts", `the ${word} of ${what} is ${shown(String(was))}`, shown(String(is))];
  }
  const [was, is] = [sizeOf(then), sizeOf(now)];
  if (was !== null && is !== null && was !== is) yield ["camera_sizes", `${what} has ${was}`, is];
}

const PLACEMENT = [
  ["mount", "mount"],
  ["side", "side"],
  ["rotation_degrees", "rotation in degrees"],
] as const;

function sizeOf({ width, height }: EquippedCamera): string | null {
  return width === undefined || height === undefined ? null : `${width}×${height}`;
}

/** By the models of devices: their serial numbers are each robot's own. */
function deviceDeviations(reference: Reference, { devices }: Equipment): readonly Deviation[] {
  if (devices === undefined) return [];
  const models = new Map(devices.map(({ label, model }) => [label, model]));
  return (reference.equipment.devices ?? []).flatMap(({ label, model }) => {
    const other = models.get(label);
    if (other === model) return [];
    const clause =
      other === undefined
        ? `where there is the device ${shown(label)}; the robot has none of that label`
        : `which has another ${shown(label)} than this robot: ${named(diffDeviceLines(model, other).details)}`;
    return [deviation(reference, "devices", clause)];
  });
}

/** By everything that the robot's digest covers, but for the order. */
function partDeviations(reference: Reference, { self }: Equipment): readonly Deviation[] {
  const then = reference.equipment.self?.parts;
  if (then === undefined || self === undefined) return [];
  return diffParts(then, self.parts)
    .filter(({ change }) => change !== "moved")
    .map((part) => {
      const fact = part.part_kind === "device" ? "devices" : "files";
      return deviation(reference, fact, clauseOfPart(part), part.content === "not_kept" ? part : null);
    });
}

/** The same with what differs in a file. @param before null where it is not kept. */
export function withContent(about: Deviation, before: string | null, after: string): Deviation {
  const { part } = about;
  if (part === null || before === null) return { ...about, part: null };
  return { ...about, part: null, clause: clauseOfPart(withContents(part, before, after)) };
}

function clauseOfPart({ subject, change, before, after, details, omitted }: Difference): string {
  const label = shown(subject);
  if (change === "added") return `and ${label} is new on the robot since then`;
  if (change === "removed") return `and ${label} is gone from the robot since then`;
  const hashes = `SHA-256 ${shortened(before)} → ${shortened(after)}`;
  const what = details.length === 0 ? hashes : named(details, omitted);
  return `and ${label} changed since then: ${what}`;
}

function shortened(sha256: string | null): string {
  return `${(sha256 ?? "").slice(0, HASH_LENGTH)}…`;
}

function named(details: readonly string[], omitted = 0): string {
  const more = Math.max(0, details.length - DETAILS_MAXIMUM) + omitted;
  const some = details.slice(0, DETAILS_MAXIMUM).map(escapeInvisible);
  return `${some.join("; ")}${more === 0 ? "" : `; and ${more} more`}`;
}
