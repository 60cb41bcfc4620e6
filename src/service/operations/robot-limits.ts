/** How many robots there may be. */
export interface RobotLimits {
  /** Robots of one organization. None ever goes, and lists and selections look at all of them. */
  readonly organization: number;
}

export const ROBOT_LIMITS: RobotLimits = { organization: 1_000_000 };
