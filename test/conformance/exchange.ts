import { Agent, request } from "node:http";

/** A request; its body is sent unchanged, whatever its content type. */
export interface RawRequest {
  readonly method: string;
  /** As in the request line. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | null;
}

export interface RawResponse {
  readonly status: number;
  readonly content_type: string | undefined;
  readonly body: string;
}

/** Sends requests to one service over persistent connections. Uses node:http, because fetch adds headers. */
export interface Exchange extends Disposable {
  send(outgoing: RawRequest): Promise<RawResponse>;
}

export function createExchange(url: string, key: string, connections = 1): Exchange {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const { hostname, port } = new URL(url);
  return {
    send: ({ method, path, headers, body }) =>
      new Promise((resolve, reject) => {
        const options = {
          agent,
          hostname,
          port,
          method,
          path,
          headers: { ...headers, authorization: `Bearer ${key}` },
        };
        const outgoing = request(options, (response) => {
          const chunks: Buffer[] = [];
          response.on("error", reject);
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              content_type: response.headers["content-type"],
              body: Buffer.concat(chunks).toString("utf8"),
            }),
          );
        });
        outgoing.on("error", reject);
        outgoing.end(body ?? undefined);
      }),
    [Symbol.dispose]: () => agent.destroy(),
  };
}
