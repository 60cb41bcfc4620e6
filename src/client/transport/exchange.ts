import type { Socket } from "node:net";
import { setFlagsFromString } from "node:v8";

import { Client } from "undici";

import { errorCode } from "../../platform/files/files.ts";
import type { Limits } from "./limits.ts";
import { type Proxy, proxyHeaders, refusal } from "./proxy.ts";
import { hostOf, portOf } from "./service-url.ts";
import { type HttpAnswer, type HttpRequest, TransportError } from "./transport.ts";

/**
 * Writes one request to a connection and reads its answer, the body up to the limit. The connection is
 * closed afterwards, because registrations are weeks apart.
 *
 * @param proxy the proxy at the other end of the connection if it forwards the request, else null.
 * @throws TransportError
 */
export async function exchange(
  socket: Socket,
  request: HttpRequest,
  proxy: Proxy | null,
  limits: Limits,
): Promise<HttpAnswer> {
  const url = new URL(request.url);
  const client = clientOn(socket, proxy?.url ?? url);
  let isAnswered = false;
  try {
    const { statusCode, headers, body } = await client.request({
      method: request.method,
      path: proxy === null ? url.pathname + url.search : url.href,
      headers: { ...request.headers, host: url.host, ...(proxy === null ? {} : proxyHeaders(proxy)) },
      body: request.body,
      reset: true,
      signal: limits.signal,
    });
    limits.answered();
    isAnswered = true;
    if (proxy !== null && statusCode === 407) throw refusal(proxy, statusCode);
    const content = await readUpTo(request.answerLimitBytes, body);
    return { status: statusCode, headers: singleValues(headers), ...content };
  } catch (error) {
    throw error instanceof TransportError ? error : describe(error, url, proxy, isAnswered);
  } finally {
    socket.destroy();
    void client.destroy();
  }
}

/** Reads the body up to the limit. */
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

/** Describes a failure without undici's message, which may contain received bytes. */
function describe(error: unknown, url: URL, proxy: Proxy | null, inBody: boolean): unknown {
  // undici leaves out the code of some of its parser's errors.
  const code = errorCode(error) ?? (error instanceof Error && error.name === "HTTPParserError" ? "HPE_INVALID" : null);
  // An error without a code is a bug.
  if (code === null) return error;
  // To plain HTTP a TLS port answers with an alert, or not at all.
  const hint = !inBody && proxy === null && url.protocol === "http:" ? "; was https:// meant?" : "";
  if (/^(?:HPE|UND_ERR_HEADERS|UND_ERR_RES)_/.test(code)) {
    return new TransportError("other", code, `${url.host} does not answer with valid HTTP (${code})${hint}`);
  }
  const when = inBody ? "during its answer" : "without an answer";
  return new TransportError("reset", code, `${url.host} closed the connection ${when} (${code})${hint}`);
}

/** The maximum size of an answer's headers; undici closes the connection beyond it. */
const HEADERS_LIMIT_BYTES = 16_384;

/**
 * An undici client for one exchange over an open connection. It never connects again, because undici would do so without proxy and TLS.
 *
 * undici's timers are off, because they wake the process twice a second; limits.ts sets the limits.
 */
export function clientOn(socket: Socket, origin: URL): Client {
  let used = false;
  return new Client(origin.origin, {
    connect(_options, callback) {
      // Deferred, because undici calls this before it has updated its own state.
      queueMicrotask(() => {
        if (used) {
          callback(Object.assign(new Error("connection lost"), { code: "ECONNRESET" }), null);
          return;
        }
        used = true;
        keepingParserSmall(() => callback(null, socket));
      });
    },
    allowH2: false,
    maxHeaderSize: HEADERS_LIMIT_BYTES,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/** V8's default for `--wasm-tiering-budget`: about the bytes that a WebAssembly function executes before V8 optimizes it. */
const WASM_BUDGET_BYTES = 13_000_000;
let isParserLoaded = false;

/**
 * undici parses answers by WebAssembly and loads it at its first connection. V8 would optimize the parser at the second answer, which takes 7 MB
 * for as long as the process lives, for nothing: heartbeats are 30 s apart. The budget is set back at once, because V8 accepts no cached code
 * that was made under other flags.
 */
function keepingParserSmall(connected: () => void): void {
  if (isParserLoaded) return connected();
  isParserLoaded = true;
  setFlagsFromString(`--wasm-tiering-budget=${2 ** 31 - 1}`);
  try {
    connected();
  } finally {
    setFlagsFromString(`--wasm-tiering-budget=${WASM_BUDGET_BYTES}`);
  }
}

/**
 * Asks the proxy at the other end of `socket` for a connection to `target` (CONNECT, RFC 9110 section 9.3.6).
 *
 * undici's ProxyAgent does the same, but reports the proxy's status only in its message, and does not return the connection, whose
 * certificate `doctor` examines.
 *
 * @throws TransportError with reason `proxy`, or the signal's.
 */
export async function openTunnel(socket: Socket, proxy: Proxy, target: URL, signal: AbortSignal): Promise<Socket> {
  const authority = `${target.hostname.includes(":") ? target.hostname : hostOf(target)}:${portOf(target)}`;
  const headers = { host: authority, ...proxyHeaders(proxy) };
  try {
    const { statusCode } = await clientOn(socket, proxy.url).connect({ path: authority, headers, signal });
    // undici has released the socket, which now leads to the service.
    if (statusCode >= 200 && statusCode <= 299) return socket;
    throw refusal(proxy, statusCode);
  } catch (error) {
    socket.destroy();
    if (error instanceof TransportError) throw error;
    throw new TransportError(
      "proxy",
      "PROXY_NO_ANSWER",
      `proxy ${proxy.url.host} closed the connection, or is not an HTTP proxy`,
    );
  }
}
