import type { StreamLimits } from "../console/server/stream-limits.ts";
import { HTTP_LIMITS, type HttpLimits } from "./kernel/traffic/limits.ts";
import { ROBOT_LIMITS, type RobotLimits } from "./robots/quota.ts";

/** All limits on clients. */
export interface ServiceLimits extends HttpLimits {
  /** Event streams to pages of the console. */
  readonly streams: StreamLimits;
  readonly robots: RobotLimits;
}

export const SERVICE_LIMITS: ServiceLimits = {
  ...HTTP_LIMITS,
  // Browsers with the Web Locks API share one stream among their windows.
  streams: { credential: 20, organization: 200, all: 1000 },
  robots: ROBOT_LIMITS,
};
