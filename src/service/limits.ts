import { HTTP_LIMITS, type HttpLimits } from "./kernel/traffic/limits.ts";
import { ROBOT_LIMITS, type RobotLimits } from "./robots/quota.ts";

/** All limits on clients. */
export interface ServiceLimits extends HttpLimits {
  readonly robots: RobotLimits;
}

export const SERVICE_LIMITS: ServiceLimits = {
  ...HTTP_LIMITS,
  robots: ROBOT_LIMITS,
};
