import { BODY_BYTES } from "../../api/body-bytes.ts";

/** Bounds of one HTTP connection. A robot needs a fraction of each. */
export interface HttpLimits {
  /** Larger bodies are refused with 413, whatever the operation takes. */
  readonly body_bytes: number;
  /** Bodies worked on at the same time, all together; beyond that requests are asked to come again (503). */
  readonly held_bodies_bytes: number;
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
  /** How often the two request timeouts are looked at. */
  readonly check_interval_ms: number;
  readonly connections: number;
  /** How often the TLS files are looked at. */
  readonly certificate_check_ms: number;
  /** How long requests in flight may take after the service was asked to stop. */
  readonly drain_timeout_ms: number;
}

export const HTTP_LIMITS: HttpLimits = {
  body_bytes: BODY_BYTES.registration,
  held_bodies_bytes: 64 * 1024 * 1024,
  header_bytes: 16 * 1024,
  headers_timeout_ms: 10_000,
  request_timeout_ms: 30_000,
  keep_alive_timeout_ms: 75_000,
  idle_timeout_ms: 90_000,
  check_interval_ms: 1000,
  connections: 10_000,
  certificate_check_ms: 30_000,
  drain_timeout_ms: 10_000,
};
