/** Robot types that the service, or this program, knows by name: SPEC section 10. */

import type * as body from "../custom/body.ts";

/** The catalog's types by id, for the check of a manifest. */
export type Catalog = ReadonlyMap<string, CatalogType>;

export interface CatalogType {
  readonly display_name: string;
  /** The service is known to have the type: a robot of exactly this type registers by id alone. */
  readonly hosted: boolean;
}

/** A row of the catalog: a robot type in the manifest's terms, without defaults. */
export interface CatalogRow extends CatalogType {
  readonly robot_type_id: string;
  /** The source of the facts. */
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
  readonly rotation_frame?: string;
}

export interface CatalogCamera {
  readonly role: string;
  readonly mount: body.Mount;
  readonly side?: body.Side;
  readonly width: number;
  readonly height: number;
  readonly fps: number;
}
