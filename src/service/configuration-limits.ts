import { fieldsOf } from "../manifest/fields.ts";
import type { Place, Reader } from "../manifest/fields.ts";
import { boolean, integer, number } from "../manifest/readers.ts";
import { HTTP_LIMITS } from "./http/limits.ts";
import type { HttpLimits } from "./http/limits.ts";
import { readShares } from "./configuration-shares.ts";
import { RATE_LIMITS } from "./http/rate-limits.ts";
import type { RateLimit, RateLimits } from "./http/rate-limits.ts";

const RATE = { minimum: 0.1, maximum: 1_000_000 } as const;
const BURST = { minimum: 1, maximum: 10_000_000 } as const;
const BODY_BYTES = { minimum: 16_384, maximum: 16 * 1024 * 1024 } as const;
const HEADER_BYTES = { minimum: 4096, maximum: 64 * 1024 } as const;
const TIMEOUT_S = { minimum: 1, maximum: 600 } as const;
const CONNECTIONS = { minimum: 1, maximum: 1_000_000 } as const;
const MS_PER_S = 1000;

/** `off` where it is switched off. */
export const readRateLimit: Reader<RateLimits | "off"> = (place) => {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const enabled = fields.optional("enabled", boolean) ?? true;
  const credential = fields.optional("credential", rateReader(RATE_LIMITS.credential)) ?? RATE_LIMITS.credential;
  const address = fields.optional("address", rateReader(RATE_LIMITS.address)) ?? RATE_LIMITS.address;
  fields.close();
  return enabled ? { credential, address } : "off";
};

function rateReader(standard: RateLimit): Reader<RateLimit> {
  return (place) => {
    const fields = fieldsOf(place);
    if (fields === undefined) return undefined;
    const per_second = fields.optional("per_second", number(RATE)) ?? standard.per_second;
    const burst = fields.optional("burst", integer(BURST)) ?? standard.burst;
    fields.close();
    return { per_second, burst };
  };
}

export const readLimits: Reader<HttpLimits> = (place) => {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const seconds = (key: string, standard_ms: number): number => {
    const value = fields.optional(key, number(TIMEOUT_S));
    return value === undefined ? standard_ms : Math.round(value * MS_PER_S);
  };
  const connections = fields.optional("connections", integer(CONNECTIONS)) ?? HTTP_LIMITS.connections;
  const limits: HttpLimits = {
    ...HTTP_LIMITS,
    body_bytes: fields.optional("body_bytes", integer(BODY_BYTES)) ?? HTTP_LIMITS.body_bytes,
    header_bytes: fields.optional("header_bytes", integer(HEADER_BYTES)) ?? HTTP_LIMITS.header_bytes,
    connections,
    connectionsOfAddress: fields.optional("connections_of_address", integer(CONNECTIONS)) ?? connections,
    ...readShares(fields),
    headers_timeout_ms: seconds("headers_timeout_s", HTTP_LIMITS.headers_timeout_ms),
    request_timeout_ms: seconds("request_timeout_s", HTTP_LIMITS.request_timeout_ms),
    keep_alive_timeout_ms: seconds("keep_alive_timeout_s", HTTP_LIMITS.keep_alive_timeout_ms),
    idle_timeout_ms: seconds("idle_timeout_s", HTTP_LIMITS.idle_timeout_ms),
    drain_timeout_ms: seconds("drain_timeout_s", HTTP_LIMITS.drain_timeout_ms),
  };
  fields.close();
  checkOrder(place, limits);
  return limits;
};

/** A part cannot have longer than the whole. */
function checkOrder(place: Place, limits: HttpLimits): void {
  const { findings } = place.check;
  const disorder = (part: string, part_ms: number, whole: string, whole_ms: number): void => {
    if (part_ms <= whole_ms) return;
    const message = `${part} (${part_ms / MS_PER_S}) is longer than ${whole} (${whole_ms / MS_PER_S})`;
    findings.error("timeout_order", place.path, place.node.offset, message);
  };
  disorder("headers_timeout_s", limits.headers_timeout_ms, "request_timeout_s", limits.request_timeout_ms);
  disorder("keep_alive_timeout_s", limits.keep_alive_timeout_ms, "idle_timeout_s", limits.idle_timeout_ms);
}
