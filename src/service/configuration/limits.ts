/** The keys `rate_limit` and `limits`. */
import * as z from "zod";

import { integer, number, type NumberBounds, OF_MAPPING, refuse, rightMembers } from "../../documents/schemas.ts";
import { RATE_LIMITS, type RateLimit } from "../kernel/traffic/limits.ts";
import { SERVICE_LIMITS, type ServiceLimits } from "../limits.ts";
import { mebibytes, MS_PER_S, seconds } from "./readers.ts";

const RATE = { minimum: 0.1, maximum: 1_000_000 } as const;
const BURST = { minimum: 1, maximum: 10_000_000 } as const;
const BODY_BYTES = { minimum: 16_384, maximum: 16 * 1024 * 1024 } as const;
const HEADER_BYTES = { minimum: 4096, maximum: 64 * 1024 } as const;
const TIMEOUT_S = { minimum: 1, maximum: 600 } as const;
const CONNECTIONS = { minimum: 1, maximum: 1_000_000 } as const;
const IN_FLIGHT_MIB = { minimum: 1, maximum: 4096 } as const;
const REQUESTS = { minimum: 1, maximum: 10_000 } as const;
const WAITING_REQUESTS = { minimum: 1, maximum: 1_000_000 } as const;
const STREAMS = { minimum: 1, maximum: 100_000 } as const;
const ROBOTS = { minimum: 1, maximum: 10_000_000 } as const;
const HISTORY_MIB = { minimum: 1, maximum: 1_000_000 } as const;
const STORED_MIB = { minimum: 1, maximum: 1_000_000_000 } as const;
const MEBIBYTE = 1024 * 1024;

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

/** Numbers that may not be larger than `whole`. A missing part has its default, or that of the whole if it is smaller. */
function parts<K extends string>(standard: Readonly<Record<K, number>>, whole: NoInfer<K>, bounds: NumberBounds) {
  const fill = (written: { readonly [name: string]: number | undefined }): Record<K, number> => {
    const most = written[whole] ?? standard[whole];
    const filled: Record<K, number> = { ...standard, [whole]: most };
    for (const key in standard) if (key !== whole) filled[key] = written[key] ?? Math.min(standard[key], most);
    return filled;
  };
  const shape = Object.fromEntries(Object.keys(standard).map((key) => [key, integer(bounds).optional()]));
  return z
    .object(shape)
    .superRefine((written, ctx) => {
      const filled = fill(rightMembers(written, ctx));
      for (const key in filled) {
        const [part, most] = [filled[key], filled[whole]];
        if (part > most)
          refuse(ctx, { id: "part_of_whole", message: `${key} (${part}) is more than ${whole} (${most})` });
      }
    }, OF_MAPPING)
    .optional()
    .transform((written = {}) => fill(written));
}

/** A part cannot have a longer timeout than the whole. */
const ORDER = [
  ["headers_timeout_s", "request_timeout_s"],
  ["keep_alive_timeout_s", "idle_timeout_s"],
] as const;

const { inFlightBytes: inFlight, requests: queue, historyBytesPerDay: history } = SERVICE_LIMITS;

export const limits = z
  .object({
    body_bytes: integer(BODY_BYTES).default(SERVICE_LIMITS.bodyBytes),
    header_bytes: integer(HEADER_BYTES).default(SERVICE_LIMITS.headerBytes),
    connections: integer(CONNECTIONS).default(SERVICE_LIMITS.connections),
    connections_of_address: integer(CONNECTIONS).optional(),
    in_flight_mib: parts({ organization: inFlight.own / MEBIBYTE, all: inFlight.all / MEBIBYTE }, "all", IN_FLIGHT_MIB),
    requests: parts({ organization: queue.ownAtOnce, all: queue.allAtOnce }, "all", REQUESTS),
    waiting_requests: parts({ organization: queue.own, all: queue.all }, "all", WAITING_REQUESTS),
    streams: parts({ ...SERVICE_LIMITS.streams }, "all", STREAMS),
    robots: parts({ ...SERVICE_LIMITS.robots }, "organization", ROBOTS),
    history_mib_per_day: parts(
      { key: history.key / MEBIBYTE, organization: history.organization / MEBIBYTE },
      "organization",
      HISTORY_MIB,
    ),
    stored_mib: mebibytes(STORED_MIB, SERVICE_LIMITS.storedBytes),
    headers_timeout_s: seconds(TIMEOUT_S, SERVICE_LIMITS.headersTimeoutMs),
    request_timeout_s: seconds(TIMEOUT_S, SERVICE_LIMITS.requestTimeoutMs),
    keep_alive_timeout_s: seconds(TIMEOUT_S, SERVICE_LIMITS.keepAliveTimeoutMs),
    idle_timeout_s: seconds(TIMEOUT_S, SERVICE_LIMITS.idleTimeoutMs),
    drain_timeout_s: seconds(TIMEOUT_S, SERVICE_LIMITS.drainTimeoutMs),
  })
  .superRefine((written, ctx) => {
    const right = rightMembers(written, ctx);
    for (const [part, whole] of ORDER) {
      const [partMs, wholeMs] = [right[part], right[whole]];
      if (partMs === undefined || wholeMs === undefined || partMs <= wholeMs) continue;
      const message = `${part} (${partMs / MS_PER_S}) is longer than ${whole} (${wholeMs / MS_PER_S})`;
      refuse(ctx, { id: "timeout_order", message });
    }
  }, OF_MAPPING)
  .transform((written): ServiceLimits => {
    const { in_flight_mib: inFlightMib, history_mib_per_day: historyMib } = written;
    return {
      ...SERVICE_LIMITS,
      bodyBytes: written.body_bytes,
      headerBytes: written.header_bytes,
      connections: written.connections,
      connectionsOfAddress: written.connections_of_address ?? written.connections,
      inFlightBytes: { own: inFlightMib.organization * MEBIBYTE, all: inFlightMib.all * MEBIBYTE },
      requests: {
        ownAtOnce: written.requests.organization,
        allAtOnce: written.requests.all,
        own: written.waiting_requests.organization,
        all: written.waiting_requests.all,
      },
      streams: written.streams,
      robots: written.robots,
      historyBytesPerDay: { key: historyMib.key * MEBIBYTE, organization: historyMib.organization * MEBIBYTE },
      storedBytes: written.stored_mib,
      headersTimeoutMs: written.headers_timeout_s,
      requestTimeoutMs: written.request_timeout_s,
      keepAliveTimeoutMs: written.keep_alive_timeout_s,
      idleTimeoutMs: written.idle_timeout_s,
      drainTimeoutMs: written.drain_timeout_s,
    };
  });
