import { errorCode } from "../../platform/files/files.ts";
import type { Proxy } from "./proxy.ts";
import { isUnknownIssuer, type Timeouts, TransportError, type UnreachableReason } from "./transport.ts";

/** A route of requests: to the service, through a proxy or not. */
export interface Route {
  readonly url: URL;
  /** A plain http request goes to the proxy itself; an https one through a tunnel. */
  readonly proxy: Proxy | null;
}

/**
 * The failure of a request, without the messages of undici and OpenSSL, which may contain received bytes.
 *
 * @returns the error itself if it is a bug.
 */
export function describeFailure(error: unknown, { url, proxy }: Route, timeouts: Timeouts): unknown {
  const told = [error, error instanceof Error ? error.cause : null].find((each) => each instanceof TransportError);
  if (told !== undefined) return told;
  if (proxy === null || url.protocol === "https:") return describe(error, url, timeouts);
  // The proxy forwards the request.
  const isRefused = error instanceof Error && error.message.startsWith("Proxy Authentication Required");
  return isRefused ? refusalOfProxy(proxy, 407) : ofProxy(describe(error, proxy.url, timeouts));
}

/** As `describeFailure`, for what fails before a proxy opens the tunnel to the service. */
export function describeTunnelFailure(error: unknown, proxy: Proxy, timeouts: Timeouts): unknown {
  const code = codeOfFailure(error);
  if (code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_CONNECT_TIMEOUT") {
    const what = `${proxy.url.host} opens no connection within ${timeouts.connectMs / 1000} s`;
    return new TransportError("proxy", CONNECT_TIMEOUT, `proxy ${what}`);
  }
  if (code === "UND_ERR_SOCKET" || code === "ECONNRESET" || code?.startsWith("HPE_") === true) {
    const what = `proxy ${proxy.url.host} closed the connection, or is not an HTTP proxy`;
    return new TransportError("proxy", "PROXY_NO_ANSWER", what);
  }
  return ofProxy(describe(error, proxy.url, timeouts));
}

/** The failure of a request that the proxy refuses with this status. */
export function refusalOfProxy({ url }: Proxy, status: number): TransportError {
  const why = status === 407 ? "requires a valid user name and password" : "opens no connection to this service";
  return new TransportError("proxy", `HTTP_${status}`, `proxy ${url.host} ${why} (${status})`);
}

function ofProxy(failure: unknown): unknown {
  if (!(failure instanceof TransportError)) return failure;
  return new TransportError("proxy", failure.code, `proxy: ${failure.message}`);
}

const CONNECT_TIMEOUT = "CONNECT_TIMEOUT";

/** @param url of the host that was connected to. */
function describe(error: unknown, url: URL, timeouts: Timeouts): unknown {
  const code = codeOfFailure(error);
  // An error without a code is a bug.
  if (code === null) return error;
  const failed = (reason: UnreachableReason, what: string) => new TransportError(reason, code, what);
  const { host } = url;
  // A TLS port answers plain HTTP with an alert, or not at all.
  const hint = url.protocol === "http:" ? "; was https:// meant?" : "";
  switch (code) {
    case "UND_ERR_CONNECT_TIMEOUT":
      return new TransportError("timeout", CONNECT_TIMEOUT, `no connection within ${timeouts.connectMs / 1000} s`);
    case "UND_ERR_HEADERS_TIMEOUT":
      return new TransportError("timeout", "HEADERS_TIMEOUT", `no answer within ${timeouts.headersMs / 1000} s`);
    case "ETIMEDOUT":
      return failed("timeout", `${host} does not answer (${code})`);
    case "UND_ERR_SOCKET":
    case "ECONNRESET":
    case "EPIPE":
      return failed("reset", `${host} closed the connection (${code})${hint}`);
  }
  if (isLookup(error)) return failed("dns", `cannot find ${url.hostname} (${code})`);
  if (/^(?:HPE_|UND_ERR_|ERR_ASSERTION)/.test(code))
    return failed("other", `${host} does not answer with valid HTTP (${code})${hint}`);
  // Codes of the system have no underscore; those of OpenSSL have one.
  if (/^E[A-Z0-9]+$/.test(code)) return failed("connect", `cannot connect to ${host} (${code})`);
  return failed("tls", `cannot trust ${host}: ${explainTls(code)} (${code})`);
}

/** The code of an error of the system, OpenSSL, undici or Node; null for an error without one. */
export function codeOfFailure(error: unknown): string | null {
  // A host with several addresses: it was reached if one refuses, while to others there may be no route.
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [];
  if (errors.some((each) => errorCode(each) === "ECONNREFUSED")) return "ECONNREFUSED";
  // undici leaves out the code of some of its parser's errors.
  const isOfParser = error instanceof Error && error.name === "HTTPParserError";
  return errorCode(error) ?? (isOfParser ? "HPE_INVALID" : null);
}

function isLookup(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "getaddrinfo";
}

/** OpenSSL's errors for an answer in plain HTTP. */
const NO_TLS: ReadonlySet<string> = new Set(["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"]);

function explainTls(code: string): string {
  if (code === "CERT_HAS_EXPIRED") return "its certificate has expired, or the clock is wrong";
  if (code === "CERT_NOT_YET_VALID") return "its certificate is not valid yet, or the clock is wrong";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "its certificate is for another host";
  if (isUnknownIssuer(code)) return "its certificate comes from an unknown authority";
  if (NO_TLS.has(code)) return "it does not speak TLS; was http:// meant?";
  return "the TLS handshake failed";
}
