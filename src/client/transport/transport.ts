/** One exchange with a service, whatever carries it: the real one is undici-transport.ts, a simulated machine has its own. */
export interface Transport {
  /**
   * Sends one request and reads the whole answer. Never follows a redirect.
   *
   * @throws TransportError when there is no whole answer, promptly when `signal` aborts; nothing else but bugs.
   */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>;
  /** Loads what a request needs, ahead of one that is likely soon. Opens nothing. */
  prepare(): void;
  /** Aborts what is under way and lets go of every socket. */
  close(): Promise<void>;
}

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD";
  /** Absolute. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly timeouts: Timeouts;
  /** Bytes of the answer's body to read at most. */
  readonly answerLimitBytes: number;
}

export interface Timeouts {
  /** Finding the host, connecting, proxy and TLS handshake together. */
  readonly connectMs: number;
  /** From the connection to the end of the answer's headers. */
  readonly headers_ms: number;
  /** Everything. */
  readonly total_ms: number;
}

export const DEFAULT_TIMEOUTS: Timeouts = { connectMs: 10_000, headers_ms: 15_000, total_ms: 30_000 };

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case; bounded to 16 KiB in all. */
  readonly headers: Readonly<Record<string, string>>;
  /** As much of the body as the request allowed. */
  readonly body: Uint8Array;
  /** False when the body went on beyond the limit. */
  readonly complete: boolean;
}

/** Why there is no answer. */
export type UnreachableReason =
  /** The host's name has no address. */
  | "dns"
  /** Nobody accepts connections there, or no route leads there. */
  | "connect"
  /** The other side cannot prove that it is the service, or does not speak TLS. */
  | "tls"
  | "timeout"
  /** The proxy is not there, refuses us, or cannot reach the service. */
  | "proxy"
  /** The connection broke. */
  | "reset"
  /** We gave up because we were told to. */
  | "aborted"
  /** What came back is not HTTP, and the rest. */
  | "other";

/** There is no answer. Holds nothing of the request and nothing of what caused it: both may hold a credential. */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly reason: UnreachableReason;
  /** A system error (`ECONNREFUSED`), an OpenSSL or Node code (`CERT_HAS_EXPIRED`), or one of ours (`CONNECT_TIMEOUT`). */
  readonly code: string | null;

  constructor(reason: UnreachableReason, code: string | null, message: string) {
    super(message);
    this.reason = reason;
    this.code = code;
  }
}

/**
 * True for the ways OpenSSL says "I do not know who issued this", where the machine's own certificate store may help.
 * That store is asked only then: reading it costs 20 ms and several MB, and nearly no robot needs it.
 */
export function isUnknownIssuer(code: string | null): boolean {
  return code !== null && UNKNOWN_ISSUER.has(code);
}

const UNKNOWN_ISSUER: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);
