import { BODY_BYTES } from "../../../api/wire/body-bytes.ts";
import type { FairQueueLimits } from "./fair-queue.ts";

/** Limits of the service by their name in the configuration; `store.waiting` and those of enrolments are not configurable. */
export type Limit =
  | `rate_limit.${keyof RateLimits}`
  | `limits.${"connections" | "connections_of_address" | "waiting_requests"}`
  | `limits.in_flight_mib.${"organization" | "all"}`
  | `enrolments.${"starts" | "waiting" | "wrong_codes"}`
  | "store.waiting";

/** A token bucket of `burst` tokens, refilled with `per_second`. */
export interface RateLimit {
  readonly per_second: number;
  readonly burst: number;
}

export interface RateLimits {
  /** Requests of one credential. */
  readonly credential: RateLimit;
  /** Requests of all credentials of one organization. */
  readonly organization: RateLimit;
  /** Requests of one client address without a valid credential: as many logins, and as many guesses at keys. */
  readonly address: RateLimit;
  /** Requests of robot computers at one address that sign what they send instead of showing a credential. */
  readonly robots: RateLimit;
}

/**
 * All robots of a site may share one key, and after a power cut each sends a request within seconds. So the bucket of a credential holds
 * two requests for each of 10,000 robots, and its rate serves 6,000 robots that send one request a minute. Robots that enrolled have a
 * credential each: 10,000 of them send 333 heartbeats a second. An address may be a whole site
 * behind one NAT: a hundred people can log in there at once. Ten guesses a second at a key of 128 bits are hopeless. Each of 10,000 robots
 * at such an address asks for work every ten seconds, and after a long outage all renew their credentials.
 */
export const RATE_LIMITS: RateLimits = {
  credential: { per_second: 100, burst: 20_000 },
  organization: { per_second: 1000, burst: 100_000 },
  address: { per_second: 10, burst: 300 },
  robots: { per_second: 2000, burst: 20_000 },
};

const MEBIBYTE = 1024 * 1024;

/** Limits on connections, memory and time: per connection, per organization or address, and for all clients together. */
export interface HttpLimits {
  /** Larger bodies are refused with 413 for every operation; most take less. */
  readonly bodyBytes: number;
  /** Request bodies being read or handled, and large answers not yet received: of one organization or address, and of all. */
  readonly inFlightBytes: { readonly own: number; readonly all: number };
  /** Request line and headers together; more is refused with 431. */
  readonly headerBytes: number;
  /** From the first byte of a request to the end of its headers. */
  readonly headersTimeoutMs: number;
  /** From the first byte of a request to its last. */
  readonly requestTimeoutMs: number;
  /** Idle time between requests of a connection; longer than that of proxies, so that the proxy closes first. */
  readonly keepAliveTimeoutMs: number;
  /** Time without a byte in either direction, for example while a client does not read its answer. */
  readonly idleTimeoutMs: number;
  /** How long a client refused before its body was read has to read the answer: enough for some retransmissions over a radio link. */
  readonly lingerMs: number;
  /** How often the two request timeouts are checked; the connections that have timed out since are handled in one turn. */
  readonly checkIntervalMs: number;
  readonly connections: number;
  /** Per address; an IPv6 /48 counts as one. */
  readonly connectionsOfAddress: number;
  /** Running and waiting requests, of one organization and of all: those that read, and those that may change something. */
  readonly requests: Readonly<Record<"reads" | "changes", Required<FairQueueLimits>>>;
  /** How long requests in flight may take once the service stops. */
  readonly drainTimeoutMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  bodyBytes: BODY_BYTES.content,
  // A site of 10,000 robots may share one address and one key. After a power cut, each robot sends two kilobytes.
  inFlightBytes: { own: 24 * MEBIBYTE, all: 64 * MEBIBYTE },
  headerBytes: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 75_000,
  idleTimeoutMs: 90_000,
  lingerMs: 5000,
  checkIntervalMs: 100,
  // One for each robot of such a site, and room for other clients.
  connections: 12_000,
  connectionsOfAddress: 12_000,
  // Few of one organization at a time, so that others wait for few: reads for connections of the store. Changes share a commit.
  requests: {
    reads: { ownAtOnce: 4, allAtOnce: 64, own: 10_000, all: 20_000 },
    changes: { ownAtOnce: 48, allAtOnce: 256, own: 10_000, all: 20_000 },
  },
  drainTimeoutMs: 10_000,
};
