/** Limits on new robots. Existing robots may always register again. */
export interface RobotLimits {
  /** Robots that one key may add; bounds the damage of a stolen key. */
  readonly key: number;
  /** Robots of one organization that were not removed. Lists and selections read all of them. */
  readonly organization: number;
}

export const ROBOT_LIMITS: RobotLimits = { key: 20_000, organization: 1_000_000 };
