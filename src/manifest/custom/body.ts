/** The robot type of a custom manifest. Each value has its position in the file. */
import type * as terms from "../../api/robot-terms.ts";
import type { Path } from "../../documents/pointer.ts";

export type Topology = (typeof terms.TOPOLOGIES)[number];
export type ActionSemantics = (typeof terms.ACTION_SEMANTICS)[number];
export type Gripper = (typeof terms.GRIPPERS)[number];
export type Kind = (typeof terms.KINDS)[number];
export type Side = (typeof terms.SIDES)[number];
export type Unit = (typeof terms.UNITS)[number];
export type AngleUnit = (typeof terms.ANGLE_UNITS)[number];
export type Zero = (typeof terms.ZEROS)[number];
export type StateQuantity = (typeof terms.STATE_QUANTITIES)[number];
export type Action = (typeof terms.ACTIONS)[number];
export type Rotation = (typeof terms.ROTATIONS)[number];
export type Mount = (typeof terms.MOUNTS)[number];
export type Period = (typeof terms.PERIODS)[number];

/** The position of a value; for a value from the extended type, that of `extends`. */
export interface Spot {
  readonly path: Path;
  /** Of the first character in the file. */
  readonly offset: number;
}

export interface Valued<T> extends Spot {
  readonly value: T;
}

/** Both are infinite for a joint that turns without end. */
export type Pair = readonly [low: number, high: number];

export interface Limits {
  readonly unit: Valued<Unit> | undefined;
  /** One pair for each element. */
  readonly position: Valued<readonly Valued<Pair>[]> | undefined;
  /** One for all elements, or one for each. */
  readonly velocity: Valued<Scalars> | undefined;
}

/** One number for all elements, or a number with its position for each. */
export type Scalars = number | readonly Valued<number>[];

export interface Normalized {
  readonly full_scale: Valued<Scalars>;
  readonly per: Period;
}

/** A group from the manifest or from the extended type. Its spot is that of its mapping. */
export interface Group extends Spot {
  readonly name: Valued<string>;
  readonly kind: Valued<Kind> | undefined;
  readonly side: Valued<Side> | undefined;
  readonly elements: Valued<readonly Valued<string>[]> | undefined;
  readonly unit: Valued<Unit> | undefined;
  readonly angle_unit: Valued<AngleUnit> | undefined;
  /** Of a joint whose unit is counts. */
  readonly counts_per_turn: Valued<number> | undefined;
  readonly zero: Valued<Zero> | undefined;
  readonly state: Valued<readonly Valued<StateQuantity>[]> | undefined;
  readonly action: Valued<Action> | undefined;
  readonly limits: Valued<Limits> | undefined;
  readonly aperture: Valued<{ readonly closed: number; readonly open: number }> | undefined;
  readonly normalized: Valued<Normalized> | undefined;
  readonly frame: Valued<string> | undefined;
  readonly rotation: Valued<Rotation> | undefined;
  /** What the rotation is relative to, if not the robot's base. */
  readonly rotation_frame: Valued<string> | undefined;
}

export interface Camera extends Spot {
  readonly role: Valued<string>;
  readonly mount: Mount;
  readonly side: Valued<Side> | undefined;
  readonly width: number;
  readonly height: number;
  readonly fps: Valued<number>;
  readonly rotation_degrees: (typeof terms.ROTATION_DEGREES)[number];
  readonly color_space: "rgb";
  readonly pixel_dtype: "uint8";
}

/** The body keys that are present. */
export interface Body {
  readonly extends: Valued<string> | undefined;
  readonly topology: Valued<Topology> | undefined;
  readonly action_semantics: Valued<ActionSemantics> | undefined;
  readonly gripper: Valued<Gripper> | undefined;
  readonly control_rate_hz: Valued<number> | undefined;
  readonly groups: Valued<readonly Group[]> | undefined;
  readonly cameras: Valued<readonly Camera[]> | undefined;
}
