/** Robot types that the service, or this program, knows by name: SPEC section 10. */

import type * as shape from "../custom/shape.ts";
import type { CatalogType } from "./ids.ts";

/** A row of the catalog: a robot type in the manifest's terms, without defaults. */
export interface CatalogRow extends CatalogType {
  readonly robot_type_id: string;
  /** The source of the facts. */
  readonly source: string;
  readonly topology: shape.Topology;
  readonly action_semantics: shape.ActionSemantics;
  readonly gripper?: shape.Gripper;
  readonly control_rate_hz: number;
  /** In vector order. */
  readonly groups: readonly CatalogGroup[];
  /** `user`: whoever installs the robot declares them. */
  readonly cameras: "user" | readonly CatalogCamera[];
}

/** A group, whose kind is known. */
export type CatalogGroup = shape.Group & { readonly kind: shape.Kind };

export type CatalogCamera = Pick<shape.Camera, "role" | "mount" | "side" | "width" | "height" | "fps">;
