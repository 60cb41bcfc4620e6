/** Stage 4 of a custom type: checks its id, merges the extended base, and requires keys (SPEC sections 3 and 5). */
import type { FindingList, Path, PathStep } from "../../documents/findings.ts";
import { defined } from "../../platform/defined.ts";
import type { CatalogCamera, CatalogGroup, CatalogRow } from "../catalog/rows.ts";
import { type CompleteGroup, hasDimension, KINDS } from "./group.ts";
import type { ActionSemantics, Body, Camera, Group, Gripper, Topology } from "./keys.ts";

/** A robot type with every required key, from the manifest or the base. */
export interface Robot {
  readonly robot_type_id: string;
  readonly topology: Topology;
  readonly action_semantics: ActionSemantics;
  readonly gripper: Gripper | undefined;
  readonly control_rate_hz: number;
  /** In vector order. */
  readonly groups: readonly CompleteGroup[];
  readonly cameras: readonly Camera[];
  /** Id of the extended type. */
  readonly base_id: string | undefined;
  /** As the manifest has it. */
  readonly written: Body;
}

/** The path of what the extended type gives. */
const EXTENDS: Path = ["extends"];

/** The path of a key of the body; `extends` where the base has it. */
export function pathOf({ written }: Pick<Robot, "written">, key: keyof Body, ...below: readonly PathStep[]): Path {
  return written[key] === undefined && written.extends !== undefined ? EXTENDS : [key, ...below];
}

/** The path of a key of a group, present or missing; `extends` where the base has it. */
export function pathInGroup(group: CompleteGroup, key: keyof Group, ...below: readonly PathStep[]): Path {
  const { written } = group;
  return written === null || isInherited(group, key) ? EXTENDS : ["groups", written.index, key, ...below];
}

/** Whether a key of a group is from the base. */
export function isInherited({ written, ...group }: Pick<CompleteGroup, "written"> & Group, key: keyof Group): boolean {
  return written === null || (written.keys[key] === undefined && group[key] !== undefined);
}

/** The robot merged with its base; undefined after an error, which is a finding. */
export function completeRobot(
  typeId: string,
  body: Body,
  catalog: readonly CatalogRow[],
  findings: FindingList,
): Robot | undefined {
  checkTypeId(typeId, catalog, findings);
  const row = catalog.find(({ robot_type_id: robotTypeId }) => robotTypeId === body.extends);
  const theirs = row?.cameras === "user" ? undefined : row?.cameras.map(baseCamera);
  const {
    topology = row?.topology,
    action_semantics: actionSemantics = row?.action_semantics,
    control_rate_hz: controlRateHz = row?.control_rate_hz,
    gripper = row?.gripper,
    cameras = theirs,
  } = body;
  const groups = body.groups === undefined && row === undefined ? undefined : mergeGroups(body.groups ?? [], row);
  const required = { topology, action_semantics: actionSemantics, control_rate_hz: controlRateHz, groups, cameras };
  for (const [key, value] of Object.entries(required)) {
    if (value === undefined) findings.error("missing", [key], `${key} is required`);
  }
  const complete = (groups ?? []).map((group) => completeGroup(group, findings)).filter((group) => group !== undefined);
  if (findings.hasError || !topology || !actionSemantics || !controlRateHz || !cameras) return undefined;
  return {
    robot_type_id: typeId,
    topology,
    action_semantics: actionSemantics,
    gripper,
    control_rate_hz: controlRateHz,
    groups: complete,
    cameras,
    base_id: row?.robot_type_id,
    written: body,
  };
}

function checkTypeId(typeId: string, catalog: readonly CatalogRow[], findings: FindingList): void {
  const [vendor = ""] = typeId.split(".");
  const path = ["robot_type_id"];
  if (catalog.some(({ robot_type_id: robotTypeId }) => robotTypeId === typeId)) {
    const message = `${typeId} is a catalog type; choose your own robot_type_id and write extends: ${typeId}`;
    findings.error("catalog_type_redefined", path, message);
  } else if (catalog.some(({ robot_type_id: robotTypeId }) => robotTypeId.split(".")[0] === vendor)) {
    findings.error("type_id_reserved", path, `${vendor} is reserved for catalog types`);
  }
}

type MergedGroup = Group & Pick<CompleteGroup, "written" | "base">;

/** The manifest's values replace the base's. Groups are merged by name and keep the base's order; new groups follow. */
function mergeGroups(groups: readonly Group[], row: CatalogRow | undefined): readonly MergedGroup[] {
  const bases = row?.groups.map(baseGroup) ?? [];
  const written = groups.map((keys, index) => ({ index, keys }));
  const merged = bases.map((base) => {
    const own = written.find(({ keys }) => keys.name === base.name);
    return own === undefined ? base : { ...mergeGroup(base, own.keys), written: own, base };
  });
  const added = written.filter(({ keys }) => !bases.some((base) => base.name === keys.name));
  return [...merged, ...added.map(addedGroup)];
}

function addedGroup(written: NonNullable<CompleteGroup["written"]>): MergedGroup {
  return { ...written.keys, written, base: undefined };
}

/**
 * Merges key by key; limits, aperture and other mappings are replaced as a whole. In another unit the base's numbers would mean something
 * else, so they are not inherited then; nor is a zero that the unit does not have.
 */
function mergeGroup(base: Group, group: Group): Group {
  const { unit, angle_unit: angleUnit } = group;
  const isOther = (own: string | undefined, theirs: string | undefined) => own !== undefined && own !== theirs;
  if (!isOther(unit, base.unit) && !isOther(angleUnit, base.angle_unit)) return { ...base, ...defined(group) };
  const zero = unit === undefined || hasDimension(unit) ? base.zero : undefined;
  return { ...base, zero, limits: undefined, aperture: undefined, normalized: undefined, ...defined(group) };
}

function completeGroup(group: MergedGroup, findings: FindingList): CompleteGroup | undefined {
  const { kind, written } = group;
  const isJoint = kind !== undefined && KINDS[kind].isJoint;
  const needed = { kind: true, elements: isJoint, unit: isJoint || kind === "gripper" };
  for (const key of ["kind", "elements", "unit"] as const) {
    if (!needed[key] || group[key] !== undefined) continue;
    findings.error("missing", ["groups", written?.index ?? 0, key], `${key} is required`);
  }
  return kind && { ...group, kind };
}

/** A group of the catalog as a group of a robot. */
export function baseGroup(group: CatalogGroup): CompleteGroup {
  return { ...group, written: null, base: undefined };
}

function baseCamera(camera: CatalogCamera): Camera {
  return { ...camera, rotation_degrees: 0, color_space: "rgb", pixel_dtype: "uint8" };
}
