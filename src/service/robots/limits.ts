/** How many robots there may be. Those that are there may register again, whatever the limits say. */
export interface RobotLimits {
  /** Robots that one key adds: more is a key that got into wrong hands. */
  readonly key: number;
  /** Robots of one organization. None ever goes, and lists and selections look at all of them. */
  readonly organization: number;
}

export const ROBOT_LIMITS: RobotLimits = { key: 20_000, organization: 1_000_000 };
