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

function rate(standard: RateLimit, description: string) {
  return z
    .object({
      per_second: number(RATE).default(standard.per_second).describe("Requests a second, after a burst."),
      burst: integer(BURST).default(standard.burst).describe("Requests at once."),
    })
    .default(standard)
    .describe(description);
}

export const rateLimitSchema = z
  .object({
    enabled: z.boolean().default(true).describe("false: no limits on the rate."),
    credential: rate(RATE_LIMITS.credential, "Of each API key and session."),
    organization: rate(RATE_LIMITS.organization, "Of all of an organization together."),
    address: rate(
      RATE_LIMITS.address,
      "Of each client address without a valid credential: logins, and guesses at keys. IPv6: of each /64, and 8 times as much of a /48.",
    ),
    robots: rate(
      RATE_LIMITS.robots,
      "Of each client address, for robot computers that sign instead: enrolments and renewals.",
    ),
  })
  .transform(({ enabled, ...limits }) => (enabled ? limits : ("off" as const)));

export const limitsSchema = z
  .object({
    connections: integer(CONNECTIONS)
      .default(SERVICE_LIMITS.connections)
      .describe("When all are in use, the client with the most loses its newest one."),
    robots: z
      .object({
        key: integer(ROBOTS).default(ROBOT_LIMITS.key).describe("Added by one API key."),
        organization: integer(ROBOTS).default(ROBOT_LIMITS.organization).describe("Of one organization."),
      })
      .default(ROBOT_LIMITS)
      .describe("New robots; existing ones may always register again."),
    request_timeout_s: seconds(TIMEOUT_S, SERVICE_LIMITS.requestTimeoutMs).describe(
      "Seconds for a request, from its first byte to its last.",
    ),
    keep_alive_timeout_s: seconds(TIMEOUT_S, SERVICE_LIMITS.keepAliveTimeoutMs).describe(
      "Seconds between requests of a connection; more than your proxy's.",
    ),
    drain_timeout_s: seconds(TIMEOUT_S, SERVICE_LIMITS.drainTimeoutMs).describe(
      "Seconds for requests in flight when the service is stopped; less than TimeoutStopSec= of the unit.",
    ),
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
