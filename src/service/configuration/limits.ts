import { fail, mapping } from "../../manifest/fields.ts";
import type { Place, Reader } from "../../manifest/fields.ts";
import { boolean, integer, number } from "../../manifest/readers.ts";
import { RATE_LIMITS } from "../kernel/traffic/rate-limits.ts";
import type { RateLimit, RateLimits } from "../kernel/traffic/rate-limits.ts";
import { SERVICE_LIMITS } from "../limits.ts";
import type { ServiceLimits } from "../limits.ts";
import { readShares } from "./shares.ts";

const RATE = { minimum: 0.1, maximum: 1_000_000 } as const;
const BURST = { minimum: 1, maximum: 10_000_000 } as const;
const BODY_BYTES = { minimum: 16_384, maximum: 16 * 1024 * 1024 } as const;
const HEADER_BYTES = { minimum: 4096, maximum: 64 * 1024 } as const;
const TIMEOUT_S = { minimum: 1, maximum: 600 } as const;
const CONNECTIONS = { minimum: 1, maximum: 1_000_000 } as const;
const MS_PER_S = 1000;

export const readRateLimit: Reader<RateLimits | "off"> = mapping((fields) => {
  const enabled = fields.optional("enabled", boolean) ?? true;
  const credential = fields.optional("credential", rateReader(RATE_LIMITS.credential)) ?? RATE_LIMITS.credential;
  const address = fields.optional("address", rateReader(RATE_LIMITS.address)) ?? RATE_LIMITS.address;
  const robots = fields.optional("robots", rateReader(RATE_LIMITS.robots)) ?? RATE_LIMITS.robots;
  return enabled ? { credential, address, robots } : "off";
});

function rateReader(standard: RateLimit): Reader<RateLimit> {
  return mapping((fields) => {
    const perSecond = fields.optional("per_second", number(RATE)) ?? standard.per_second;
    const burst = fields.optional("burst", integer(BURST)) ?? standard.burst;
    return { per_second: perSecond, burst };
  });
}

export const readLimits: Reader<ServiceLimits> = mapping((fields, place) => {
  const seconds = (key: string, standardMs: number): number => {
    const value = fields.optional(key, number(TIMEOUT_S));
    return value === undefined ? standardMs : Math.round(value * MS_PER_S);
  };
  const connections = fields.optional("connections", integer(CONNECTIONS)) ?? SERVICE_LIMITS.connections;
  const limits: ServiceLimits = {
    ...SERVICE_LIMITS,
    bodyBytes: fields.optional("body_bytes", integer(BODY_BYTES)) ?? SERVICE_LIMITS.bodyBytes,
    headerBytes: fields.optional("header_bytes", integer(HEADER_BYTES)) ?? SERVICE_LIMITS.headerBytes,
    connections,
    connectionsOfAddress: fields.optional("connections_of_address", integer(CONNECTIONS)) ?? connections,
    ...readShares(fields),
    workMs: fields.optional("work_ms", rateReader(SERVICE_LIMITS.workMs)) ?? SERVICE_LIMITS.workMs,
    headersTimeoutMs: seconds("headers_timeout_s", SERVICE_LIMITS.headersTimeoutMs),
    requestTimeoutMs: seconds("request_timeout_s", SERVICE_LIMITS.requestTimeoutMs),
    keepAliveTimeoutMs: seconds("keep_alive_timeout_s", SERVICE_LIMITS.keepAliveTimeoutMs),
    idleTimeoutMs: seconds("idle_timeout_s", SERVICE_LIMITS.idleTimeoutMs),
    drainTimeoutMs: seconds("drain_timeout_s", SERVICE_LIMITS.drainTimeoutMs),
  };
  checkOrder(place, limits);
  return limits;
});

/** A part cannot have a longer timeout than the whole. */
function checkOrder(place: Place, limits: ServiceLimits): void {
  const disorder = (part: string, partMs: number, whole: string, wholeMs: number): void => {
    if (partMs <= wholeMs) return;
    fail(place, "timeout_order", `${part} (${partMs / MS_PER_S}) is longer than ${whole} (${wholeMs / MS_PER_S})`);
  };
  disorder("headers_timeout_s", limits.headersTimeoutMs, "request_timeout_s", limits.requestTimeoutMs);
  disorder("keep_alive_timeout_s", limits.keepAliveTimeoutMs, "idle_timeout_s", limits.idleTimeoutMs);
}
