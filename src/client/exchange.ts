import type { Socket } from "node:net";

import { errorCode } from "../platform/files.ts";
import type { Limits } from "./limits.ts";
import type { Proxy } from "./proxy.ts";
import { clientOn } from "./single-use-client.ts";
import type { HttpAnswer, HttpRequest } from "./transport.ts";
import { TransportError } from "./transport.ts";

/**
 * Writes one request to a connection and reads its answer, the body up to the limit. The connection is of no use
 * afterwards: registrations are weeks apart, an idle one would only cost.
 *
 * @param proxy the proxy at the other end of the connection when the request is for it to forward, else null.
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
  try {
    const answer = await new Promise<HttpAnswer>((resolve, reject) => {
      const onAbort = () => reject(limits.signal.reason);
      limits.signal.addEventListener("abort", onAbort, { once: true });
      if (limits.signal.aborted) onAbort();

      let start = { status: 0, headers: {} };
      const body = new BoundedBody(request.answer_limit_bytes);
      client.dispatch(
        {
          method: request.method,
          path: proxy === null ? url.pathname + url.search : url.href,
          headers: { ...request.headers, host: url.host, ...proxyHeaders(proxy) },
          body: request.body,
          reset: true,
        },
        {
          onRequestStart() {},
          onResponseStart(_controller, status, headers) {
            // Early hints and the like; the answer itself is still to come.
            if (status < 200) return;
            limits.answered();
            start = { status, headers: singleValues(headers) };
          },
          onResponseData(controller, chunk) {
            if (body.take(chunk)) return;
            resolve({ ...start, body: body.bytes(), complete: false });
            controller.abort(new Error("the answer is larger than allowed"));
          },
          onResponseEnd() {
            resolve({ ...start, body: body.bytes(), complete: true });
          },
          onResponseError(_controller, error) {
            reject(describe(error, url, proxy, start.status !== 0));
          },
        },
      );
    });
    if (proxy !== null && answer.status === 407) {
      throw new TransportError(
        "proxy",
        "HTTP_407",
        `proxy ${proxy.url.host} wants a user name and password, or other ones (407)`,
      );
    }
    return answer;
  } finally {
    socket.destroy();
    void client.destroy();
  }
}

function proxyHeaders(proxy: Proxy | null): Record<string, string> {
  const authorization = proxy?.authorization ?? null;
  return authorization === null ? {} : { "proxy-authorization": authorization.reveal() };
}

/** Repeated headers become one, as RFC 9110 section 5.3 allows. */
function singleValues(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const single: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) single[name.toLowerCase()] = typeof value === "string" ? value : value.join(", ");
  }
  return single;
}

/** Says what broke in our own words: undici's errors carry the bytes they stumbled over. */
function describe(error: Error, url: URL, proxy: Proxy | null, in_body: boolean): Error {
  // undici leaves out the code of some of its parser's errors.
  const code = errorCode(error) ?? (error.name === "HTTPParserError" ? "HPE_INVALID" : null);
  // Without a code it is no failure of the network but a bug; let it be seen as one.
  if (code === null) return error;
  // To plain HTTP a TLS port answers with an alert, or not at all.
  const hint = !in_body && proxy === null && url.protocol === "http:" ? "; was https:// meant?" : "";
  if (code.startsWith("HPE_") || code === "UND_ERR_HEADERS_OVERFLOW") {
    return new TransportError("other", code, `${url.host} does not speak HTTP as it should (${code})${hint}`);
  }
  const when = in_body ? "in the middle of its answer" : "without an answer";
  return new TransportError("reset", code, `${url.host} broke off ${when} (${code})${hint}`);
}

class BoundedBody {
  readonly #limit_bytes: number;
  readonly #chunks: Uint8Array[] = [];
  #size_bytes = 0;

  constructor(limit_bytes: number) {
    this.#limit_bytes = limit_bytes;
  }

  /** False when the chunk does not fit any more; what fits of it is kept. */
  take(chunk: Uint8Array): boolean {
    const free_bytes = this.#limit_bytes - this.#size_bytes;
    const kept = chunk.subarray(0, free_bytes);
    this.#chunks.push(kept);
    this.#size_bytes += kept.byteLength;
    return chunk.byteLength <= free_bytes;
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#chunks);
  }
}
