import { getCACertificates } from "node:tls";
import { isIP, type LookupFunction } from "node:net";

import { Agent, buildConnector, Client, type Dispatcher, ProxyAgent } from "undici";

import type { Files } from "../../platform/files/files.ts";
import { readCaFile } from "./certificates.ts";
import { describeFailure, describeTunnelFailure, refusalOfProxy, type Route } from "./failure.ts";
import { chooseProxy, type Environment, type Proxy } from "./proxy.ts";
import { addressLimitMs, LOCALHOST, parseServiceUrl } from "./service-url.ts";
import {
  type HttpAnswer,
  type HttpRequest,
  isUnknownIssuer,
  OTHER_AUTHORITY,
  type Timeouts,
  type Transport,
  TransportError,
} from "./transport.ts";

export interface UndiciTransportOptions {
  /** PEM file of certificate authorities to trust in addition to the usual ones; null for none. An edit of it counts for the next connection. */
  readonly caFile: string | null;
  /** See `ProxySettings`. */
  readonly proxy: string | null;
  /** For HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
  readonly environment: Environment;
  /** Allows plain http to other machines. */
  readonly allow_insecure: boolean;
  readonly files: Files;
}

/** The part of undici-transport.ts that is imported lazily. */
export function createSender(options: UndiciTransportOptions): Transport["send"] {
  const { caFile } = options;
  let ofSystem: readonly string[] = [];
  return async (request, caller) => {
    const url = safeUrl(request.url, options.allow_insecure);
    const route: Route = { url, proxy: proxyFor(url, options) };
    const { timeouts } = request;
    const deadline = AbortSignal.timeout(timeouts.totalMs);
    const signal = AbortSignal.any([caller, deadline]);
    const ofFile = await readAuthorities(route, options);

    const sendTrusting = async (store: readonly string[]): Promise<HttpAnswer> => {
      const extra = [...ofFile, ...store];
      // Without others only Node's own (with NODE_EXTRA_CA_CERTS), which Node keeps parsed.
      const certificates = extra.length === 0 ? undefined : [...new Set([...getCACertificates("default"), ...extra])];
      try {
        return await exchange(route, request, certificates, signal);
      } catch (error) {
        if (caller.aborted) throw new TransportError("aborted", "ABORTED", "the request was aborted");
        if (deadline.aborted) {
          throw new TransportError("timeout", "TOTAL_TIMEOUT", `no whole answer within ${timeouts.totalMs / 1000} s`);
        }
        throw describeFailure(error, route, timeouts);
      }
    };

    try {
      return await sendTrusting(ofSystem);
    } catch (error) {
      if (!hasUnknownIssuer(error)) throw error;
    }
    // Only now, because it has hundreds of files, and few robots need it.
    const store = getCACertificates("system");
    try {
      const answer = await sendTrusting(store);
      ofSystem = store;
      return answer;
    } catch (error) {
      if (caFile === null || !hasUnknownIssuer(error)) throw error;
      throw new TransportError(error.reason, OTHER_AUTHORITY, `${error.message}; it is not among those in ${caFile}`);
    }
  };
}

/** Those of the CA file, which is read for each connection over TLS. */
async function readAuthorities(
  { url, proxy }: Route,
  { files, caFile }: UndiciTransportOptions,
): Promise<readonly string[]> {
  if (caFile === null || (url.protocol !== "https:" && proxy?.url.protocol !== "https:")) return [];
  const read = await readCaFile(files, caFile);
  if (read.kind === "ca-problem") throw new TransportError("tls", read.code, read.what);
  return read.certificates;
}

function hasUnknownIssuer(error: unknown): error is TransportError {
  return error instanceof TransportError && isUnknownIssuer(error.code);
}

/** Checks the URL of each request, so that no key is sent unencrypted whatever the configuration allows. */
function safeUrl(text: string, allowInsecure: boolean): URL {
  const url = new URL(text);
  // Only the origin: operations have paths and queries.
  const checked = parseServiceUrl(url.origin, allowInsecure);
  if (checked.kind === "url-problem") {
    throw new TransportError("other", "SERVICE_URL", `${checked.what}; ${checked.fix}`);
  }
  // RFC 6066 section 3: the server name of TLS has no dot at its end.
  url.hostname = url.hostname.replace(/\.$/, "");
  return url;
}

function proxyFor(url: URL, options: UndiciTransportOptions): Proxy | null {
  const choice = chooseProxy(options, url);
  if (choice.kind === "proxy-problem") throw new TransportError("proxy", choice.code, choice.what);
  return choice.kind === "proxy" ? choice : null;
}

/** Sends one request over a connection of its own, because registrations are weeks apart, and reads the answer's body up to the limit. */
async function exchange(
  route: Route,
  { method, headers, body, timeouts, answerLimitBytes }: HttpRequest,
  certificates: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const { url } = route;
  // Node connects a socket even if its signal has aborted before.
  signal.throwIfAborted();
  const dispatcher = openDispatcher(route, { certificates, isVerified: true }, timeouts, signal);
  try {
    const answer = await dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers,
      body,
      headersTimeout: timeouts.headersMs,
      bodyTimeout: 0,
      reset: true,
      signal,
    });
    const content = await readUpTo(answerLimitBytes, answer.body);
    return { status: answer.statusCode, headers: singleValues(answer.headers), ...content };
  } finally {
    void dispatcher.destroy();
  }
}

/** The certificates to trust; undefined for Node's own. Verification is off only to look at a certificate that was refused. */
interface Trust {
  readonly certificates: readonly string[] | undefined;
  readonly isVerified: boolean;
}

/** The maximum size of an answer's headers; undici closes the connection beyond it. */
const HEADERS_LIMIT_BYTES = 16_384;

/**
 * Opens the connections of a request: TCP, proxy and TLS, as the route requires.
 *
 * @param signal closes them, whatever they wait for.
 */
export function openDispatcher(
  { url, proxy }: Route,
  trust: Trust,
  timeouts: Timeouts,
  signal: AbortSignal,
): Dispatcher {
  const to = ({ hostname }: URL) => ({
    timeout: timeouts.connectMs,
    autoSelectFamilyAttemptTimeout: addressLimitMs(timeouts.connectMs),
    ...(hostname === LOCALHOST ? { lookup: lookUpLoopback } : {}),
    ...(trust.certificates === undefined ? {} : { ca: [...trust.certificates] }),
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment has no effect.
    rejectUnauthorized: trust.isVerified,
    allowH2: false,
    signal,
  });
  const options = { allowH2: false, maxHeaderSize: HEADERS_LIMIT_BYTES };
  if (proxy === null) return new Agent({ ...options, connect: to(url) });
  return new ProxyAgent({
    ...options,
    uri: proxy.url.href,
    ...(proxy.authorization === null ? {} : { token: proxy.authorization.reveal() }),
    proxyTls: to(proxy.url),
    requestTls: to(url),
    clientFactory(origin) {
      const connect = withoutAddressAsName(buildConnector(to(proxy.url)));
      return markErrors(
        new Client(origin, { ...options, connect, headersTimeout: timeouts.connectMs }),
        proxy,
        timeouts,
      );
    },
  });
}

/** undici names a proxy by its address, too, and Node refuses an address as a server name (RFC 6066 section 3). */
function withoutAddressAsName(connect: buildConnector.connector): buildConnector.connector {
  return (to, done) => connect(isIP(to.hostname) === 0 ? to : { ...to, servername: "" }, done);
}

/** Has the errors of a client, which asks the proxy for a connection to the service, say that they are of the proxy. */
function markErrors(client: Client, proxy: Proxy, timeouts: Timeouts): Dispatcher {
  const ask = client.connect.bind(client);
  return Object.assign(client, {
    async connect(options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
      try {
        const answer = await ask(options);
        if (answer.statusCode === 200) return answer;
        answer.socket.destroy();
        throw refusalOfProxy(proxy, answer.statusCode);
      } catch (error) {
        throw error instanceof TransportError ? error : describeTunnelFailure(error, proxy, timeouts);
      }
    },
  });
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

async function readUpTo(
  limitBytes: number,
  body: AsyncIterable<Uint8Array>,
): Promise<Pick<HttpAnswer, "body" | "complete">> {
  const chunks: Uint8Array[] = [];
  let freeBytes = limitBytes;
  for await (const chunk of body) {
    chunks.push(chunk.subarray(0, freeBytes));
    if (chunk.byteLength > freeBytes) return { body: Buffer.concat(chunks), complete: false };
    freeBytes -= chunk.byteLength;
  }
  return { body: Buffer.concat(chunks), complete: true };
}

/** Joins repeated headers, as RFC 9110 section 5.3 allows. */
function singleValues(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const single: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) single[name.toLowerCase()] = typeof value === "string" ? value : value.join(", ");
  }
  return single;
}
