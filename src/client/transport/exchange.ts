import type { Socket } from "node:net";

import { errorCode } from "../../platform/files/files.ts";
import type { Limits } from "./limits.ts";
import type { Proxy } from "./proxy.ts";
import { proxyHeaders, refusal } from "./proxy.ts";
import { clientOn } from "./single-use-client.ts";
import type { HttpAnswer, HttpRequest } from "./transport.ts";
import { TransportError } from "./transport.ts";

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
  if (code.startsWith("HPE_") || code === "UND_ERR_HEADERS_OVERFLOW") {
    return new TransportError("other", code, `${url.host} does not answer with valid HTTP (${code})${hint}`);
  }
  const when = inBody ? "during its answer" : "without an answer";
  return new TransportError("reset", code, `${url.host} closed the connection ${when} (${code})${hint}`);
}
