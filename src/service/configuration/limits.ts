/** The keys `rate_limit` and `limits`. */
import * as z from "zod";

import { integer, number } from "../../documents/schemas.ts";
import { RATE_LIMITS, type RateLimit } from "../kernel/traffic/limits.ts";
import { SERVICE_LIMITS, type ServiceLimits } from "../limits.ts";
import { seconds } from "./readers.ts";

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

export const rateLimit = z
  .object({
    enabled: z.boolean().default(true),
    credential: rate(RATE_LIMITS.credential),
    organization: rate(RATE_LIMITS.organization),
    address: rate(RATE_LIMITS.address),
    robots: rate(RATE_LIMITS.robots),
  })
  .transform(({ enabled, ...limits }) => (enabled ? limits : ("off" as const)));

const robots = z
  .object({
    key: integer(ROBOTS).default(SERVICE_LIMITS.robots.key),
    organization: integer(ROBOTS).default(SERVICE_LIMITS.robots.organization),
  })
  .default(SERVICE_LIMITS.robots);

export const limits = z
  .object({
    connections: integer(CONNECTIONS).default(SERVICE_LIMITS.connections),
    robots,
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
