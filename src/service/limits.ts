/** All limits on clients, and how the configuration sets them (`rate_limit` and `limits`). */
import * as z from "zod";

import { integer, number } from "../documents/schemas.ts";
import { seconds } from "./configuration/readers.ts";
import { HTTP_LIMITS, type HttpLimits, RATE_LIMITS, type RateLimit } from "./kernel/traffic/limits.ts";
import { ROBOT_LIMITS, type RobotLimits } from "./robots/quota.ts";

export interface ServiceLimits extends HttpLimits {
  readonly robots: RobotLimits;
}

export const SERVICE_LIMITS: ServiceLimits = {
  ...HTTP_LIMITS,
  robots: ROBOT_LIMITS,
};

const RATE = { minimum: 0.1, maximum: 1_000_000 } as const;
const BURST = { minimum: 1, maximum: 10_000_000 } as const;
const TIMEOUT_S = { minimum: 1, maximum: 600 } as const;
const CONNECTIONS = { minimum: 1, maximum: 1_000_000 } as const;
const ROBOTS = { minimum: 1, maximum: 10_000_000 } as const;

function rate(standard: RateLimit) {
  return z
    .object({
      per_second: number(RATE).default(standard.per_second),
      burst: integer(BURST).default(standard.burst),
    })
    .default(standard);
}

export const rateLimitSchema = z
  .object({
    enabled: z.boolean().default(true),
    credential: rate(RATE_LIMITS.credential),
    organization: rate(RATE_LIMITS.organization),
    address: rate(RATE_LIMITS.address),
    robots: rate(RATE_LIMITS.robots),
  })
  .transform(({ enabled, ...limits }) => (enabled ? limits : ("off" as const)));

export const limitsSchema = z
  .object({
    connections: integer(CONNECTIONS).default(SERVICE_LIMITS.connections),
    robots: z
      .object({
        key: integer(ROBOTS).default(ROBOT_LIMITS.key),
        organization: integer(ROBOTS).default(ROBOT_LIMITS.organization),
      })
      .default(ROBOT_LIMITS),
    request_timeout_s: seconds(TIMEOUT_S, SERVICE_LIMITS.requestTimeoutMs),
    keep_alive_timeout_s: seconds(TIMEOUT_S, SERVICE_LIMITS.keepAliveTimeoutMs),
    drain_timeout_s: seconds(TIMEOUT_S, SERVICE_LIMITS.drainTimeoutMs),
  })
  .transform((written): ServiceLimits => {
    const { connections, request_timeout_s: requestTimeoutMs, keep_alive_timeout_s: keepAliveTimeoutMs } = written;
    return {
      ...SERVICE_LIMITS,
      connections,
      connectionsOfAddress: connections,
      robots: written.robots,
      headersTimeoutMs: Math.min(SERVICE_LIMITS.headersTimeoutMs, requestTimeoutMs),
      requestTimeoutMs,
      keepAliveTimeoutMs,
      idleTimeoutMs: Math.max(SERVICE_LIMITS.idleTimeoutMs, keepAliveTimeoutMs),
      drainTimeoutMs: written.drain_timeout_s,
    };
  });
