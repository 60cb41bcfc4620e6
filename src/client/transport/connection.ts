import { isIP, type LookupFunction, type Socket } from "node:net";

import { buildConnector } from "undici";

import { connectTcp } from "../../platform/connect-tcp.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { Proxy } from "./proxy.ts";
import { hostOf, LOCALHOST, portOf } from "./service-url.ts";
import { isUnknownIssuer, TransportError } from "./transport.ts";
import { openTunnel } from "./exchange.ts";

/** The route of requests to one service. */
export interface Route {
  /** The service. */
  readonly url: URL;
  /** A plain http request goes to the proxy itself; an https one through a tunnel. */
  readonly proxy: Proxy | null;
  /** Certificates to trust; undefined for Node's own. */
  readonly certificates: readonly string[] | undefined;
}

/**
 * Opens a connection for a request: TCP, tunnel and TLS, as the route requires.
 *
 * @throws TransportError; failures of a proxy have the reason `proxy`.
 */
export async function openConnection(route: Route, signal: AbortSignal): Promise<Socket> {
  const { url, certificates } = route;
  const socket = await openUntilTls(route, signal);
  return url.protocol === "https:" ? secure(socket, url, certificates, signal) : socket;
}

/** As `openConnection`, without TLS to the service. */
export async function openUntilTls({ url, proxy, certificates }: Route, signal: AbortSignal): Promise<Socket> {
  if (proxy === null) return openTcp(url, signal);
  return withProxyReason(proxy, signal, () => openProxy(proxy, url, certificates, signal));
}

async function openProxy(
  proxy: Proxy,
  target: URL,
  certificates: Route["certificates"],
  signal: AbortSignal,
): Promise<Socket> {
  const tcp = await openTcp(proxy.url, signal);
  const socket = proxy.url.protocol === "https:" ? await secure(tcp, proxy.url, certificates, signal) : tcp;
  return target.protocol === "https:" ? openTunnel(socket, proxy, target, signal) : socket;
}

async function withProxyReason<T>(proxy: Proxy, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TransportError) || error.reason === "aborted" || error.reason === "proxy") throw error;
    // The signal's error has other readers, so it is not changed.
    const message =
      error === signal.reason ? `${error.message} through proxy ${proxy.url.host}` : `proxy: ${error.message}`;
    throw new TransportError("proxy", error.code, message);
  }
}

async function openTcp(url: URL, signal: AbortSignal): Promise<Socket> {
  const host = hostOf(url);
  try {
    return await connectTcp(host, portOf(url), signal, host === LOCALHOST ? lookUpLoopback : undefined);
  } catch (error) {
    signal.throwIfAborted();
    const code = errorCode(error) ?? null;
    if (isLookup(error)) throw new TransportError("dns", code, `cannot find ${host} (${code})`);
    if (code === "ETIMEDOUT") throw new TransportError("timeout", code, `${url.host} does not answer (ETIMEDOUT)`);
    throw new TransportError("connect", code, `cannot connect to ${url.host} (${code})`);
  }
}

const LOOPBACK_ADDRESSES = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/** Plain http to `localhost` is allowed because it stays on this machine, so no resolver is asked (RFC 6761 section 6.3). */
const lookUpLoopback: LookupFunction = (_host, { all }, callback) => {
  if (all === true) callback(null, LOOPBACK_ADDRESSES);
  else callback(null, "127.0.0.1", 4);
};

function isLookup(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "getaddrinfo";
}

/**
 * Starts TLS on a connection. `rejectUnauthorized` is explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment has no effect:
 * verification cannot be turned off.
 */
async function secure(
  tcp: Socket,
  url: URL,
  certificates: Route["certificates"],
  signal: AbortSignal,
): Promise<Socket> {
  const host = hostOf(url);
  const options = { ...(certificates === undefined ? {} : { ca: [...certificates] }), rejectUnauthorized: true };
  // RFC 6066 section 3: an address is not a server name.
  const server = isIP(host) === 0 ? { servername: host } : {};
  const to = { protocol: "https:", hostname: host, port: `${portOf(url)}`, httpSocket: tcp, ...server };
  signal.throwIfAborted();
  const open = buildConnector({ ...options, signal, allowH2: false, timeout: 0 });
  return new Promise((resolve, reject) => {
    open(to, (error, socket) => {
      if (error === null) resolve(socket);
      else reject(signal.aborted ? signal.reason : describeTls(url, error));
    });
  });
}

function describeTls({ host }: URL, error: Error): TransportError {
  const code = errorCode(error) ?? null;
  if (code === "ECONNRESET" || code === "EPIPE") {
    return new TransportError("reset", code, `${host} closed the connection during the TLS handshake (${code})`);
  }
  return new TransportError("tls", code, `cannot trust ${host}: ${explain(code)} (${code})`);
}

/** OpenSSL's errors for an answer in plain HTTP. */
const NO_TLS: ReadonlySet<string> = new Set(["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"]);
const OLD_TLS: ReadonlySet<string> = new Set(["ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION", "ERR_SSL_UNSUPPORTED_PROTOCOL"]);

function explain(code: string | null): string {
  if (code === "CERT_HAS_EXPIRED") return "its certificate has expired, or the clock is wrong";
  if (code === "CERT_NOT_YET_VALID") return "its certificate is not valid yet, or the clock is wrong";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "its certificate is for another host";
  if (isUnknownIssuer(code)) return "its certificate comes from an unknown authority";
  if (code !== null && NO_TLS.has(code)) return "it does not speak TLS; was http:// meant?";
  if (code !== null && OLD_TLS.has(code)) return "it does not speak TLS 1.2 or 1.3";
  if (code === "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL") return "it does not speak HTTP/1.1";
  return "the TLS handshake failed";
}
