import { BODY_BYTES } from "../../api/body-bytes.ts";
import type { PlaceLimits } from "../console/places.ts";
import { ROBOT_LIMITS } from "../operations/robot-limits.ts";
import type { RobotLimits } from "../operations/robot-limits.ts";
import { HISTORY_LIMITS } from "../registrations/history-budget.ts";
import type { HistoryLimits } from "../registrations/history-budget.ts";
import type { TurnLimits } from "../turns.ts";
import type { Shares } from "./parties.ts";

const MEBIBYTE = 1024 * 1024;

/** What clients may take of the service: each connection, each party, and all together. */
export interface HttpLimits {
  /** Larger bodies are refused with 413, whatever the operation takes. */
  readonly body_bytes: number;
  /**
   * Bodies being read and worked on, and large answers not yet taken, at one time. Beyond that requests are asked to come again: what is
   * made of a body is a multiple of it.
   */
  readonly in_flight_bytes: Shares;
  /** How fast a client takes a large answer at least. A radio link that is slower carries no lists. */
  readonly answer_bytes_per_s: number;
  /** How long it may take beside that. */
  readonly answer_patience_ms: number;
  /** Request line and headers together; larger ones are refused with 431. */
  readonly header_bytes: number;
  /** From the first byte of a request to the end of its headers. */
  readonly headers_timeout_ms: number;
  /** From the first byte of a request to its last. */
  readonly request_timeout_ms: number;
  /** Between requests of a connection; longer than proxies keep theirs, so that they close first. */
  readonly keep_alive_timeout_ms: number;
  /** Without a byte in either direction, for instance while a client does not read its answer. */
  readonly idle_timeout_ms: number;
  /** How long a client that is refused before its body was read has to read its answer: some retransmissions over a radio link. */
  readonly lingerMs: number;
  /** How often the two request timeouts are looked at. */
  readonly check_interval_ms: number;
  readonly connections: number;
  /** Of one address, which is one party. Of IPv6 a /48 counts as one. */
  readonly connectionsOfAddress: number;
  /** Requests that are worked on, and those that wait for it, of one organization and of all. */
  readonly requests: Required<TurnLimits>;
  /** Streams of events to pages of the console. */
  readonly streams: PlaceLimits;
  readonly robots: RobotLimits;
  readonly historyBytesPerDay: HistoryLimits;
  /** How often the TLS files are looked at. */
  readonly certificate_check_ms: number;
  /** How long requests in flight may take after the service was asked to stop. */
  readonly drain_timeout_ms: number;
}

export const HTTP_LIMITS: HttpLimits = {
  body_bytes: BODY_BYTES.registration,
  // A site of 10,000 robots has one address, and may have one key: when the power comes back, each of them sends two kilobytes.
  in_flight_bytes: { credential: 24 * MEBIBYTE, network: 24 * MEBIBYTE, site: 32 * MEBIBYTE, all: 64 * MEBIBYTE },
  answer_bytes_per_s: 16 * 1024,
  answer_patience_ms: 10_000,
  header_bytes: 16 * 1024,
  headers_timeout_ms: 10_000,
  request_timeout_ms: 30_000,
  keep_alive_timeout_ms: 75_000,
  idle_timeout_ms: 90_000,
  lingerMs: 5000,
  check_interval_ms: 1000,
  // Each robot of such a site may hold one, and there is room for others.
  connections: 12_000,
  connectionsOfAddress: 12_000,
  // An organization never has all places: what others send is looked at beside its sixty-four, however many it sends; so many share a commit.
  requests: { ownAtOnce: 64, allAtOnce: 256, own: 10_000, all: 20_000 },
  // A browser shares one stream among its windows, wherever it has locks for that.
  streams: { credential: 20, organization: 200, all: 1000 },
  robots: ROBOT_LIMITS,
  historyBytesPerDay: HISTORY_LIMITS,
  certificate_check_ms: 30_000,
  drain_timeout_ms: 10_000,
};
