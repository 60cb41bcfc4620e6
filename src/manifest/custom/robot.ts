/** Stage 4 of a custom type: checks its id, merges the extended base, and requires keys (SPEC sections 3 and 5). */
import { defined } from "../../platform/defined.ts";
import type { CatalogCamera, CatalogGroup, CatalogRow } from "../catalog/catalog.ts";
import type { FindingList } from "../../documents/finding-list.ts";
import { below } from "../../documents/pointer.ts";
import type { ActionSemantics, Body, Camera, Group, Gripper, Kind, Scalars, Spot, Topology, Valued } from "./body.ts";
import { kindRules } from "./kinds.ts";
import { hasDimension } from "./units.ts";

/** A group of a complete robot. */
export interface CompleteGroup extends Group {
  readonly kind: Valued<Kind>;
  /** The group of the extended type with this name. */
  readonly base: CompleteGroup | undefined;
}

/** A robot type with every required key, from the manifest or the base. */
export interface Robot {
  readonly robot_type_id: string;
  readonly topology: Valued<Topology>;
  readonly action_semantics: Valued<ActionSemantics>;
  readonly gripper: Valued<Gripper> | undefined;
  readonly control_rate_hz: Valued<number>;
  /** In vector order. */
  readonly groups: Valued<readonly CompleteGroup[]>;
  readonly cameras: readonly Camera[];
  /** Id of the extended type. */
  readonly base_id: string | undefined;
}

/** The id of a custom type, with its position. */
export type TypeId = Valued<string>;

/** The robot merged with its base; undefined after an error, which is a finding. */
export function completeRobot(
  typeId: TypeId,
  body: Body,
  root: Spot,
  catalog: readonly CatalogRow[],
  findings: FindingList,
): Robot | undefined {
  checkTypeId(typeId, catalog, findings);
  const row = catalog.find(({ robot_type_id: robotTypeId }) => robotTypeId === body.extends?.value);
  const merged = row === undefined || body.extends === undefined ? body : merge(body, row, body.extends);
  const { topology, action_semantics: actionSemantics, control_rate_hz: controlRateHz, groups, cameras } = merged;
  for (const key of ["topology", "action_semantics", "control_rate_hz", "groups", "cameras"] as const) {
    if (merged[key] === undefined) requireKey(root, key, findings);
  }
  const bases = row === undefined || body.extends === undefined ? [] : catalogGroups(row, body.extends);
  const complete = (groups?.value ?? []).map((group) => completeGroup(group, bases, findings));
  if (findings.hasError || !topology || !actionSemantics || !controlRateHz || !groups || !cameras) return undefined;
  return {
    robot_type_id: typeId.value,
    topology,
    action_semantics: actionSemantics,
    gripper: merged.gripper,
    control_rate_hz: controlRateHz,
    groups: { ...groups, value: complete.filter((group) => group !== undefined) },
    cameras: cameras.value,
    base_id: row?.robot_type_id,
  };
}

function checkTypeId({ value, path, offset }: TypeId, catalog: readonly CatalogRow[], findings: FindingList): void {
  const [vendor = ""] = value.split(".");
  if (catalog.some(({ robot_type_id: robotTypeId }) => robotTypeId === value)) {
    const message = `${value} is a catalog type; choose your own robot_type_id and write extends: ${value}`;
    findings.error("catalog_type_redefined", path, offset, message);
  } else if (catalog.some(({ robot_type_id: robotTypeId }) => robotTypeId.split(".")[0] === vendor)) {
    findings.error("type_id_reserved", path, offset, `${vendor} is reserved for catalog types`);
  }
}

function completeGroup(
  group: Group,
  bases: readonly CompleteGroup[],
  findings: FindingList,
): CompleteGroup | undefined {
  const { kind, name } = group;
  if (kind === undefined) {
    requireKey(group, "kind", findings);
    return undefined;
  }
  const { hasElements, hasUnit } = kindRules(kind.value);
  if (hasElements && group.elements === undefined) requireKey(group, "elements", findings);
  if (hasUnit && group.unit === undefined) requireKey(group, "unit", findings);
  return { ...group, kind, base: bases.find((base) => base.name.value === name.value) };
}

function requireKey({ path, offset }: Spot, key: string, findings: FindingList): void {
  findings.error("missing", below(path, key), offset, `${key} is required`);
}

/** The manifest's values replace the base's. Groups are merged by name and keep the base's order; new groups follow. */
function merge(body: Body, row: CatalogRow, at: Spot): Body {
  const { path, offset } = at;
  const inherited = <T>(value: T | undefined): Valued<T> | undefined =>
    value === undefined ? undefined : { value, path, offset };
  const bases = catalogGroups(row, at);
  const written = body.groups?.value ?? [];
  const isBase = ({ name }: Group) => bases.some((base) => base.name.value === name.value);
  const merged = bases.map((base) => {
    const group = written.find(({ name }) => name.value === base.name.value);
    return group === undefined ? base : mergeGroup(base, group);
  });
  return {
    extends: body.extends,
    topology: body.topology ?? inherited(row.topology),
    action_semantics: body.action_semantics ?? inherited(row.action_semantics),
    gripper: body.gripper ?? inherited(row.gripper),
    control_rate_hz: body.control_rate_hz ?? inherited(row.control_rate_hz),
    groups: {
      value: [...merged, ...written.filter((group) => !isBase(group))],
      path: body.groups?.path ?? path,
      offset: body.groups?.offset ?? offset,
    },
    cameras:
      body.cameras ??
      inherited(row.cameras === "user" ? undefined : row.cameras.map((camera) => baseCamera(camera, at))),
  };
}

/**
 * Merges key by key; limits, aperture and other mappings are replaced as a whole. In another unit the base's numbers would mean something
 * else, so they are not inherited then; nor is a zero that the unit does not have.
 */
function mergeGroup(base: Group, group: Group): Group {
  const { unit, angle_unit: angleUnit } = group;
  const isOther = (own: Valued<string> | undefined, theirs: Valued<string> | undefined) =>
    own !== undefined && own.value !== theirs?.value;
  if (!isOther(unit, base.unit) && !isOther(angleUnit, base.angle_unit)) return { ...base, ...defined(group) };
  const zero = unit === undefined || hasDimension(unit.value) ? base.zero : undefined;
  return { ...base, zero, limits: undefined, aperture: undefined, normalized: undefined, ...defined(group) };
}

/** The groups of a catalog row, all with the position `at`. */
export function catalogGroups(row: CatalogRow, at: Spot): readonly CompleteGroup[] {
  return row.groups.map((group) => baseGroup(group, at));
}

/** A group of the catalog, with the position `at`. */
export function baseGroup(group: CatalogGroup, at: Spot): CompleteGroup {
  const { path, offset } = at;
  const known = <T>(value: T): Valued<T> => ({ value, path, offset });
  const inherited = <T>(value: T | undefined): Valued<T> | undefined =>
    value === undefined ? undefined : known(value);
  const list = <T>(values: readonly T[] | undefined) => inherited(values?.map(known));
  const scalars = (value: number | readonly number[]): Scalars =>
    typeof value === "number" ? value : value.map(known);
  const { limits, normalized } = group;
  return {
    path,
    offset,
    name: known(group.name),
    kind: known(group.kind),
    side: undefined,
    elements: list(group.elements),
    unit: inherited(group.unit),
    angle_unit: inherited(group.angle_unit),
    counts_per_turn: undefined,
    zero: inherited(group.zero),
    state: list(group.state),
    action: inherited(group.action),
    limits: inherited(
      limits && {
        unit: inherited(limits.unit),
        position: list(limits.position),
        velocity: inherited(limits.velocity === undefined ? undefined : scalars(limits.velocity)),
      },
    ),
    aperture: inherited(group.aperture),
    normalized: inherited(normalized && { full_scale: known(scalars(normalized.full_scale)), per: normalized.per }),
    frame: inherited(group.frame),
    rotation: inherited(group.rotation),
    rotation_frame: inherited(group.rotation_frame),
    base: undefined,
  };
}

function baseCamera(camera: CatalogCamera, { path, offset }: Spot): Camera {
  const { role, mount, side, width, height, fps } = camera;
  return {
    path,
    offset,
    role: { value: role, path, offset },
    mount,
    side: side === undefined ? undefined : { value: side, path, offset },
    width,
    height,
    fps: { value: fps, path, offset },
    rotation_degrees: 0,
    color_space: "rgb",
    pixel_dtype: "uint8",
  };
}
