import { BODY_BYTES } from "../../../api/wire/body-bytes.ts";
import type { Shares } from "./parties.ts";
import type { TurnLimits } from "./turns.ts";

const MEBIBYTE = 1024 * 1024;

/** What clients may take of connections, memory and time: each connection, each party, and all together. */
export interface HttpLimits {
  /** Larger bodies are refused with 413, whatever the operation takes. */
  readonly bodyBytes: number;
  /**
   * Bodies being read and worked on, and large answers not yet taken, at one time. Beyond that requests are asked to come again: what is
   * made of a body is a multiple of it.
   */
  readonly inFlightBytes: Shares;
  /** How fast a client takes a large answer at least. A radio link that is slower carries no lists. */
  readonly answerBytesPerS: number;
  /** How long it may take beside that. */
  readonly answerPatienceMs: number;
  /** Request line and headers together; larger ones are refused with 431. */
  readonly headerBytes: number;
  /** From the first byte of a request to the end of its headers. */
  readonly headersTimeoutMs: number;
  /** From the first byte of a request to its last. */
  readonly requestTimeoutMs: number;
  /** Between requests of a connection; longer than proxies keep theirs, so that they close first. */
  readonly keepAliveTimeoutMs: number;
  /** Without a byte in either direction, for instance while a client does not read its answer. */
  readonly idleTimeoutMs: number;
  /** How long a client that is refused before its body was read has to read its answer: some retransmissions over a radio link. */
  readonly lingerMs: number;
  /** How often the two request timeouts are looked at. */
  readonly checkIntervalMs: number;
  readonly connections: number;
  /** Of one address, which is one party. Of IPv6 a /48 counts as one. */
  readonly connectionsOfAddress: number;
  /** Requests that are worked on, and those that wait for it, of one organization and of all. */
  readonly requests: Required<TurnLimits>;
  /** How often the TLS files are looked at. */
  readonly certificateCheckMs: number;
  /** How long requests in flight may take after the service was asked to stop. */
  readonly drainTimeoutMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  bodyBytes: BODY_BYTES.registration,
  // A site of 10,000 robots has one address, and may have one key: when the power comes back, each of them sends two kilobytes.
  inFlightBytes: { credential: 24 * MEBIBYTE, network: 24 * MEBIBYTE, site: 32 * MEBIBYTE, all: 64 * MEBIBYTE },
  answerBytesPerS: 16 * 1024,
  answerPatienceMs: 10_000,
  headerBytes: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 75_000,
  idleTimeoutMs: 90_000,
  lingerMs: 5000,
  checkIntervalMs: 1000,
  // Each robot of such a site may hold one, and there is room for others.
  connections: 12_000,
  connectionsOfAddress: 12_000,
  // An organization never has all places: what others send is looked at beside its sixty-four, however many it sends; so many share a commit.
  requests: { ownAtOnce: 64, allAtOnce: 256, own: 10_000, all: 20_000 },
  certificateCheckMs: 30_000,
  drainTimeoutMs: 10_000,
};
