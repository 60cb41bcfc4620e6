/** Robot types that the service, or this program, knows by name: SPEC section 10. */

import type * as body from "./custom/body.ts";

/** The ready catalog as the check of a manifest sees it, by type id. */
export type Catalog = ReadonlyMap<string, CatalogType>;

export interface CatalogType {
  readonly display_name: string;
  /** The service is known to have the type: a robot of exactly this type registers by id alone. */
  readonly hosted: boolean;
}

/** A row of the catalog: what a manifest says of a robot type, without its defaults. */
export interface CatalogRow extends CatalogType {
  readonly robot_type_id: string;
  /** Where the facts come from. */
  readonly source: string;
  readonly topology: body.Topology;
  readonly action_semantics: body.ActionSemantics;
  readonly gripper?: body.Gripper;
  readonly control_rate_hz: number;
  /** In vector order. */
  readonly groups: readonly CatalogGroup[];
  /** `user`: whoever installs the robot declares them. */
  readonly cameras: "user" | readonly CatalogCamera[];
}

/** Vector elements that share a unit. */
export interface CatalogGroup {
  readonly name: string;
  readonly kind: body.Kind;
  readonly elements?: readonly string[];
  readonly unit?: body.Unit;
  readonly angle_unit?: body.AngleUnit;
  readonly zero?: body.Zero;
  readonly state?: readonly body.StateQuantity[];
  readonly action?: body.Action;
  readonly limits?: {
    readonly unit?: body.Unit;
    readonly position?: readonly body.Pair[];
    readonly velocity?: number | readonly number[];
  };
  readonly aperture?: { readonly closed: number; readonly open: number };
  readonly normalized?: { readonly full_scale: number | readonly number[]; readonly per: body.Period };
  readonly frame?: string;
  readonly rotation?: body.Rotation;
}

export interface CatalogCamera {
  readonly role: string;
  readonly mount: body.Mount;
  readonly side?: body.Side;
  readonly width: number;
  readonly height: number;
  readonly fps: number;
}

/** One line of the list that `catalog` shows. */
export interface CatalogSummary extends CatalogType {
  readonly robot_type_id: string;
  /** Length of the state vector. */
  readonly state_axes: number;
  /** Length of the action vector. */
  readonly action_axes: number;
  readonly control_rate_hz: number;
}

/** All rows. Loaded when asked for: a boot of the agent does without them. */
export async function loadCatalog(): Promise<readonly CatalogRow[]> {
  const { CATALOG_ROWS } = await import("./catalog-rows.ts");
  return CATALOG_ROWS;
}

/** Elements of an end effector's rotation. */
const ROTATION_ELEMENTS = { euler_xyz: 3, rotvec: 3, quat_xyzw: 4, rot6d: 6, none: 0 } as const;

export function summarize(row: CatalogRow): CatalogSummary {
  const { robot_type_id, display_name, hosted, control_rate_hz } = row;
  const state_axes = sum(row.groups, (group) => countElements(group) * (group.state?.length ?? 1));
  const action_axes = sum(row.groups, (group) => (isCommanded(group, row) ? countElements(group) : 0));
  return { robot_type_id, display_name, hosted, state_axes, action_axes, control_rate_hz };
}

/** Elements of a group, those that its kind implies included: SPEC section 2.4. */
function countElements({ kind, elements, rotation }: CatalogGroup): number {
  if (elements !== undefined) return elements.length;
  if (kind === "gripper") return 1;
  if (kind === "base") return 3;
  return kind === "eef" ? 3 + ROTATION_ELEMENTS[rotation ?? "none"] : 0;
}

/** Limbs act as the robot's action semantics say, everything else acts unless it says that it does not: SPEC section 2.4. */
function isCommanded({ kind, action }: CatalogGroup, { action_semantics }: CatalogRow): boolean {
  if (action !== undefined) return action !== "none";
  if (kind === "arm") return action_semantics.startsWith("joint_");
  return kind !== "eef" || action_semantics.startsWith("eef_");
}

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0);
}
