/** Sends requests to a service. undici-transport.ts is the real one; the simulation has its own. */
export interface Transport {
  /**
   * Sends one request and reads the whole answer. Never follows a redirect.
   *
   * @throws TransportError if there is no complete answer, at once when `signal` aborts. Other errors are bugs.
   */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>;
  /** Loads the modules for a request that is likely soon. Opens no connection. */
  prepare(): void;
  /** Aborts running requests and closes every socket. */
  close(): Promise<void>;
}

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD";
  /** Absolute. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly timeouts: Timeouts;
  /** The maximum size of the answer's body. */
  readonly answerLimitBytes: number;
}

export interface Timeouts {
  /** Name lookup, connection and TLS handshake together; behind a proxy, for its connection, its answer and the TLS handshake each. */
  readonly connectMs: number;
  /** From the connection to the end of the answer's headers. */
  readonly headersMs: number;
  /** The whole exchange. */
  readonly totalMs: number;
}

export const DEFAULT_TIMEOUTS: Timeouts = { connectMs: 10_000, headersMs: 15_000, totalMs: 30_000 };

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case; bounded to 16 KiB in all. */
  readonly headers: Readonly<Record<string, string>>;
  /** As much of the body as the request allowed. */
  readonly body: Uint8Array;
  /** False if the body is larger than the limit. */
  readonly complete: boolean;
}

/** Why there is no answer. */
export type UnreachableReason =
  /** The host's name has no address. */
  | "dns"
  /** The host refuses connections, or there is no route to it. */
  | "connect"
  /** The certificate is not trusted, or the server does not speak TLS. */
  | "tls"
  | "timeout"
  /** The proxy is unreachable, refuses the request, or cannot reach the service. */
  | "proxy"
  /** The connection broke. */
  | "reset"
  /** The caller aborted the request. */
  | "aborted"
  /** The answer is not HTTP, or another failure. */
  | "other";

/** There is no answer. Contains neither the request nor the cause, because both may contain a credential. */
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

/** The code of an unknown issuer although there is a CA file: it is the wrong one. */
export const OTHER_AUTHORITY = "CA_FILE_OTHER_AUTHORITY";

/** True for OpenSSL's errors about an unknown issuer. */
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

/**
 * True for the TLS failures that a wrong clock of this machine causes: a certificate that is not valid yet, or no longer.
 * The service may also be the cause: compare the clock with another time, such as the build date.
 *
 * @param code the `code` of a result with reason `tls`, or `proxy` for a handshake with a proxy.
 */
export function looksLikeClock(code: string | null): boolean {
  return code === "CERT_NOT_YET_VALID" || code === "CERT_HAS_EXPIRED";
}
