/** Stage 3 of a custom type: reads each key of the body by itself (SPEC sections 2.2 to 2.5). */
import * as allowed from "../../api/robot-terms.ts";
import { BOUNDS, NAME } from "../../api/robot-terms.ts";
import type { Fields, Place, Reader } from "../fields.ts";
import { fail, fieldsOf, read, wrongType } from "../fields.ts";
import { nearest } from "../nearest.ts";
import { below } from "../path.ts";
import { integer, number, oneOf, string, text } from "../readers.ts";
import { shown } from "../shown.ts";
import { scalarType } from "../yaml/tree.ts";
import type { Body, Camera, Group, Limits, Normalized, Pair, Scalars, Valued } from "./body.ts";

/** Reads the body keys; `bases` are the ids that can be extended. */
export function readBody(fields: Fields, bases: ReadonlySet<string>): Body {
  return {
    extends: fields.optional("extends", valued(baseId(bases))),
    topology: fields.optional("topology", valued(oneOf(...allowed.TOPOLOGIES))),
    action_semantics: fields.optional("action_semantics", valued(oneOf(...allowed.ACTION_SEMANTICS))),
    gripper: fields.optional("gripper", valued(oneOf(...allowed.GRIPPERS))),
    control_rate_hz: fields.optional("control_rate_hz", valued(number(BOUNDS.control_rate_hz))),
    groups: fields.optional("groups", valued(groups)),
    cameras: fields.optional("cameras", valued(cameras)),
  };
}

function baseId(bases: ReadonlySet<string>): Reader<string> {
  return (place) => {
    const written = string(place);
    if (written === undefined || bases.has(written)) return written;
    const near = nearest(written, bases);
    const hint = near === undefined ? "" : `; did you mean ${near}?`;
    fail(place, "extends_unknown", `no catalog type ${shown(written)}${hint}`);
    return undefined;
  };
}

const groups: Reader<readonly Group[]> = (place) => {
  const names = new Map<string, number>();
  return items(place, BOUNDS.groups, (item) => readGroup(item, names));
};

function readGroup(place: Place, names: Map<string, number>): Group | undefined {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const name = fields.required("name", unique(names, readers.name));
  const group = {
    path: place.path,
    offset: place.node.offset,
    kind: fields.optional("kind", readers.kind),
    side: fields.optional("side", readers.side),
    elements: fields.optional("elements", readers.elements),
    unit: fields.optional("unit", readers.unit),
    angle_unit: fields.optional("angle_unit", readers.angle_unit),
    zero: fields.optional("zero", readers.zero),
    state: fields.optional("state", readers.state),
    action: fields.optional("action", readers.action),
    limits: fields.optional("limits", readers.limits),
    aperture: fields.optional("aperture", readers.aperture),
    normalized: fields.optional("normalized", readers.normalized),
    frame: fields.optional("frame", readers.frame),
    rotation: fields.optional("rotation", readers.rotation),
  };
  fields.close();
  return name === undefined ? undefined : { ...group, name };
}

const cameras: Reader<readonly Camera[]> = (place) => {
  const roles = new Map<string, number>();
  return items(place, BOUNDS.cameras, (item) => readCamera(item, roles));
};

function readCamera(place: Place, roles: Map<string, number>): Camera | undefined {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const role = fields.required("role", unique(roles, readers.name));
  const mount = fields.required("mount", readers.mount);
  const side = fields.optional("side", readers.side);
  const width = fields.required("width", readers.imageSize);
  const height = fields.required("height", readers.imageSize);
  const fps = fields.required("fps", readers.fps);
  const rotationDegrees = fields.optional("rotation_degrees", rightAngle) ?? 0;
  const colorSpace = fields.optional("color_space", readers.color_space) ?? "rgb";
  const pixelDtype = fields.optional("pixel_dtype", readers.pixel_dtype) ?? "uint8";
  fields.close();
  if (role === undefined || mount === undefined || width === undefined || height === undefined || fps === undefined)
    return undefined;
  const { path, node } = place;
  const camera = {
    role,
    mount,
    side,
    width,
    height,
    fps,
    rotation_degrees: rotationDegrees,
    color_space: colorSpace,
    pixel_dtype: pixelDtype,
  };
  return { path, offset: node.offset, ...camera };
}

const rightAngle: Reader<Camera["rotation_degrees"]> = (place) => {
  const written = anyNumber(place);
  if (written === undefined) return undefined;
  const degrees = allowed.ROTATION_DEGREES.find((degrees) => degrees === written);
  if (degrees === undefined) {
    fail(place, "not_allowed", `${written} is not one of ${allowed.ROTATION_DEGREES.join(", ")}`);
  }
  return degrees;
};

const limits: Reader<Limits> = (place) => {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const read = {
    unit: fields.optional("unit", valued(oneOf(...allowed.UNITS))),
    position: fields.optional("position", valued(pairs)),
    velocity: fields.optional("velocity", valued(positives)),
  };
  fields.close();
  return read;
};

const aperture: Reader<{ readonly closed: number; readonly open: number }> = (place) => {
  const fields = fieldsOf(place);
  const closed = fields?.required("closed", anyNumber);
  const open = fields?.required("open", anyNumber);
  fields?.close();
  return closed === undefined || open === undefined ? undefined : { closed, open };
};

const normalized: Reader<Normalized> = (place) => {
  const fields = fieldsOf(place);
  const fullScale = fields?.required("full_scale", valued(positives));
  const per = fields?.required("per", oneOf(...allowed.PERIODS));
  fields?.close();
  return fullScale === undefined || per === undefined ? undefined : { full_scale: fullScale, per };
};

const pairs: Reader<readonly Valued<Pair>[]> = (place) => items(place, null, valued(pair));

const pair: Reader<Pair> = (place) => {
  const [low, high] = items(place, { minimum: 2, maximum: 2 }, anyNumber) ?? [];
  return low === undefined || high === undefined ? undefined : [low, high];
};

/** A number, or a list of numbers, all above 0. */
const positives: Reader<Scalars> = (place) => {
  const positive = number({ above: 0, maximum: BOUNDS.magnitude });
  if (place.node.kind === "sequence") return items(place, null, valued(positive));
  if (place.node.kind === "scalar" && scalarType(place.node) === "number") return positive(place);
  wrongType(place, "a number or a list of numbers");
  return undefined;
};

const anyNumber = number({ minimum: -BOUNDS.magnitude, maximum: BOUNDS.magnitude });

const readName: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined || NAME.test(written)) return written;
  fail(place, "name_format", () => `${shown(written)} is not a name: lower-case letters, digits and _ only`);
  return undefined;
};

/** Created once, because a hostile file may have thousands of groups. */
const readers = {
  name: valued(readName),
  kind: valued(oneOf(...allowed.KINDS)),
  side: valued(oneOf(...allowed.SIDES)),
  elements: valued(uniqueList(BOUNDS.elements, readName)),
  unit: valued(oneOf(...allowed.UNITS)),
  angle_unit: valued(oneOf(...allowed.ANGLE_UNITS)),
  zero: valued(oneOf(...allowed.ZEROS)),
  state: valued(uniqueList(BOUNDS.state, oneOf(...allowed.STATE_QUANTITIES))),
  action: valued(oneOf(...allowed.ACTIONS)),
  limits: valued(limits),
  aperture: valued(aperture),
  normalized: valued(normalized),
  frame: valued(text(BOUNDS.text)),
  rotation: valued(oneOf(...allowed.ROTATIONS)),
  mount: oneOf(...allowed.MOUNTS),
  imageSize: integer(BOUNDS.image_size_px),
  fps: valued(number(BOUNDS.fps)),
  color_space: oneOf("rgb"),
  pixel_dtype: oneOf("uint8"),
};

function valued<T>(reader: Reader<T>): Reader<Valued<T>> {
  return (place) => {
    const value = reader(place);
    return value === undefined ? undefined : { value, path: place.path, offset: place.node.offset };
  };
}

interface Count {
  readonly minimum: number;
  readonly maximum: number;
}

/** The valid items. Invalid items, and a wrong number of items, are findings. */
function items<T>(place: Place, count: Count | null, reader: Reader<T>): readonly T[] | undefined {
  const { node, path, check } = place;
  if (node.kind !== "sequence") {
    wrongType(place, "a list");
    return undefined;
  }
  const { length } = node.items;
  if (count !== null && (length < count.minimum || length > count.maximum)) {
    const bounds = count.minimum === count.maximum ? count.minimum : `${count.minimum} to ${count.maximum}`;
    fail(place, "list_length", `expected ${bounds} items, found ${length}`);
  }
  return node.items
    .map((item, index) => read({ node: item, path: below(path, index), check }, reader))
    .filter((item) => item !== undefined);
}

function uniqueList<T extends string>(count: Count, reader: Reader<T>): Reader<readonly Valued<T>[]> {
  return (place) => items(place, count, unique(new Map(), valued(reader)));
}

/** @param seen offsets of the values so far. */
function unique<T extends string>(seen: Map<string, number>, reader: Reader<Valued<T>>): Reader<Valued<T>> {
  return (place) => {
    const read = reader(place);
    if (read === undefined) return undefined;
    const first = seen.get(read.value);
    if (first !== undefined) {
      const { findings } = place.check;
      fail(place, "duplicate_name", () => `${read.value} is already used at line ${findings.line(first)}`);
      return undefined;
    }
    seen.set(read.value, read.offset);
    return read;
  };
}
