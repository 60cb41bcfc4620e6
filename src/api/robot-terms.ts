/**
 * Terms and bounds of robot types, in robot manifests and in the contracts made from them (robot manifest v1, sections 2 and 8). This
 * file imports no library, because a robot computer loads it at boot.
 */
/** Value of `schema` in a contract. */
export const CONTRACT_SCHEMA = "robot-contract/v1";

export const TOPOLOGIES = ["single_arm", "bimanual", "mobile_manipulator"] as const;
export const ACTION_SEMANTICS = ["joint_position", "joint_velocity", "eef_delta", "eef_absolute"] as const;
export const GRIPPERS = ["continuous", "binary", "none"] as const;
export const KINDS = ["arm", "gripper", "hand", "head", "torso", "leg", "base", "eef"] as const;
export const SIDES = ["left", "right", "none"] as const;
export const UNITS = ["rad", "deg", "m", "mm", "ratio", "percent", "calibrated_range", "counts"] as const;
/** Units of velocities. */
export const RATE_UNITS = ["rad/s", "deg/s", "m/s", "mm/s", "counts/s"] as const;
export const ANGLE_UNITS = ["rad", "deg"] as const;
export const ZEROS = ["urdf", "driver", "calibrated_mid"] as const;
export const STATE_QUANTITIES = ["position", "velocity", "effort"] as const;
export const ACTIONS = ["position", "velocity", "delta", "none"] as const;
export const ROTATIONS = ["euler_xyz", "rotvec", "quat_xyzw", "rot6d", "none"] as const;
export const ROTATION_DEGREES = [0, 90, 180, 270] as const;
export const MOUNTS = ["exterior", "wrist", "head", "base"] as const;
export const PERIODS = ["step", "second"] as const;

/** Bounds of values. `above` is exclusive, the others inclusive. */
export const BOUNDS = {
  groups: { minimum: 1, maximum: 32 },
  cameras: { minimum: 1, maximum: 8 },
  elements: { minimum: 1, maximum: 64 },
  state: { minimum: 0, maximum: 3 },
  /** Axes of each vector. */
  axes: { minimum: 1, maximum: 256 },
  control_rate_hz: { above: 0, maximum: 1000 },
  fps: { above: 0, maximum: 240 },
  image_size_px: { minimum: 32, maximum: 4096 },
  /** Every number of a manifest. */
  magnitude: 1e6,
  /** Texts, in code points. */
  text: 128,
} as const;

/** Names of groups, their elements and camera roles. */
export const NAME = /^[a-z][a-z0-9_]{0,63}$/;
/** Labels separated by dots, then a version: `acme.so101-cell.v1`. */
export const TYPE_ID = /^(?:[a-z][a-z0-9-]*\.)+[a-z][a-z0-9-]*\.v[1-9][0-9]*$/;
