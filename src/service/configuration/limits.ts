import { fail, type Fields, mapping, type Place, type Reader } from "../../documents/fields.ts";
import { boolean, integer, number, type NumberBounds } from "../../documents/readers.ts";
import { RATE_LIMITS, type RateLimit, type RateLimits } from "../kernel/traffic/limits.ts";
import { SERVICE_LIMITS, type ServiceLimits } from "../limits.ts";

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
  const seconds = (key: string, standardMs: number) => readSeconds(fields, key, TIMEOUT_S, standardMs);
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

/** Milliseconds, written in seconds. */
export function readSeconds(fields: Fields, key: string, bounds: NumberBounds, standardMs: number): number {
  const seconds = fields.optional(key, number(bounds));
  return seconds === undefined ? standardMs : Math.round(seconds * MS_PER_S);
}

/** A part cannot have a longer timeout than the whole. */
function checkOrder(place: Place, limits: ServiceLimits): void {
  const disorder = (part: string, partMs: number, whole: string, wholeMs: number): void => {
    if (partMs <= wholeMs) return;
    fail(place, "timeout_order", `${part} (${partMs / MS_PER_S}) is longer than ${whole} (${wholeMs / MS_PER_S})`);
  };
  disorder("headers_timeout_s", limits.headersTimeoutMs, "request_timeout_s", limits.requestTimeoutMs);
  disorder("keep_alive_timeout_s", limits.keepAliveTimeoutMs, "idle_timeout_s", limits.idleTimeoutMs);
}

const IN_FLIGHT_MIB = { minimum: 1, maximum: 4096 } as const;
const REQUESTS = { minimum: 1, maximum: 10_000 } as const;
const WAITING_REQUESTS = { minimum: 1, maximum: 1_000_000 } as const;
const STREAMS = { minimum: 1, maximum: 100_000 } as const;
const ROBOTS = { minimum: 1, maximum: 10_000_000 } as const;
const HISTORY_MIB = { minimum: 1, maximum: 1_000_000 } as const;
const STORED_MIB = { minimum: 1, maximum: 1_000_000_000 } as const;
const MEBIBYTE = 1024 * 1024;

/** The limits of one party and of all parties together. */
function readShares(
  fields: Fields,
): Pick<ServiceLimits, "inFlightBytes" | "requests" | "streams" | "robots" | "historyBytesPerDay" | "storedBytes"> {
  const { streams, robots, storedBytes } = SERVICE_LIMITS;
  return {
    inFlightBytes: readInFlight(fields),
    requests: readRequests(fields),
    streams: fields.optional("streams", partsReader(streams, "all", STREAMS)) ?? streams,
    robots: fields.optional("robots", partsReader(robots, "organization", ROBOTS)) ?? robots,
    historyBytesPerDay: readHistory(fields),
    storedBytes: (fields.optional("stored_mib", integer(STORED_MIB)) ?? storedBytes / MEBIBYTE) * MEBIBYTE,
  };
}

function readInFlight(fields: Fields): ServiceLimits["inFlightBytes"] {
  const standard = SERVICE_LIMITS.inFlightBytes;
  const standardMib = {
    credential: standard.credential / MEBIBYTE,
    address: standard.network / MEBIBYTE,
    site: standard.site / MEBIBYTE,
    all: standard.all / MEBIBYTE,
  };
  const { credential, address, site, all } =
    fields.optional("in_flight_mib", partsReader(standardMib, "all", IN_FLIGHT_MIB)) ?? standardMib;
  return {
    credential: credential * MEBIBYTE,
    network: address * MEBIBYTE,
    site: site * MEBIBYTE,
    all: all * MEBIBYTE,
  };
}

function readHistory(fields: Fields): ServiceLimits["historyBytesPerDay"] {
  const standard = SERVICE_LIMITS.historyBytesPerDay;
  const standardMib = { key: standard.key / MEBIBYTE, organization: standard.organization / MEBIBYTE };
  const { key, organization } =
    fields.optional("history_mib_per_day", partsReader(standardMib, "organization", HISTORY_MIB)) ?? standardMib;
  return { key: key * MEBIBYTE, organization: organization * MEBIBYTE };
}

function readRequests(fields: Fields): ServiceLimits["requests"] {
  const { requests } = SERVICE_LIMITS;
  const standardAtOnce = { organization: requests.ownAtOnce, all: requests.allAtOnce };
  const standardWaiting = { organization: requests.own, all: requests.all };
  const atOnce = fields.optional("requests", partsReader(standardAtOnce, "all", REQUESTS)) ?? standardAtOnce;
  const waiting =
    fields.optional("waiting_requests", partsReader(standardWaiting, "all", WAITING_REQUESTS)) ?? standardWaiting;
  return {
    ownAtOnce: atOnce.organization,
    allAtOnce: atOnce.all,
    own: waiting.organization,
    all: waiting.all,
  };
}

/** Numbers that may not be larger than `whole`. A missing part has its default, or that of the whole if it is smaller. */
function partsReader<K extends string>(
  standard: Readonly<Record<K, number>>,
  whole: NoInfer<K>,
  bounds: NumberBounds,
): Reader<Readonly<Record<K, number>>> {
  return mapping((fields, place) => {
    const most = fields.optional(whole, integer(bounds)) ?? standard[whole];
    const parts: Record<K, number> = { ...standard, [whole]: most };
    for (const key in standard) {
      if (key === whole) continue;
      const part = fields.optional(key, integer(bounds)) ?? Math.min(standard[key], most);
      parts[key] = part;
      if (part <= most) continue;
      fail(place, "part_of_whole", `${key} (${part}) is more than ${whole} (${most})`);
    }
    return parts;
  });
}
