import { fail, mapping } from "../../manifest/fields.ts";
import type { Fields, Reader } from "../../manifest/fields.ts";
import { integer } from "../../manifest/readers.ts";
import type { NumberBounds } from "../../manifest/readers.ts";
import { SERVICE_LIMITS } from "../limits.ts";
import type { ServiceLimits } from "../limits.ts";

const IN_FLIGHT_MIB = { minimum: 1, maximum: 4096 } as const;
const REQUESTS = { minimum: 1, maximum: 10_000 } as const;
const WAITING_REQUESTS = { minimum: 1, maximum: 1_000_000 } as const;
const STREAMS = { minimum: 1, maximum: 100_000 } as const;
const ROBOTS = { minimum: 1, maximum: 10_000_000 } as const;
const HISTORY_MIB = { minimum: 1, maximum: 1_000_000 } as const;
const STORED_MIB = { minimum: 1, maximum: 1_000_000_000 } as const;
const MEBIBYTE = 1024 * 1024;

/** The limits of one party and of all parties together. */
export function readShares(
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

/** Numbers of which none is larger than `whole`. A missing part has its default, or that of the whole if it is smaller. */
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
