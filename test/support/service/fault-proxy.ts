import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as sendRequest,
  type ServerResponse,
} from "node:http";

import { keepPort } from "./keep-port.ts";

/** What happens to a request instead of normal forwarding. */
export type Fault =
  /** Answered by the proxy; the service never sees the request. */
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** The connection breaks before the service sees the request. */
  | { readonly kind: "drop-before" }
  /** The service handles the request; its answer is lost. */
  | { readonly kind: "drop-after" }
  /** The service handles the request; the connection breaks in the middle of its answer. */
  | { readonly kind: "truncate" }
  /** Forwarded; the answer is delayed by this long. */
  | { readonly kind: "delay"; readonly delayMs: number }
  /** Forwarded; the answer is held until `release()`. */
  | { readonly kind: "hold" }
  /** Neither forwarded nor answered. */
  | { readonly kind: "hang" };

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** `performance.now()` at the end of the request's body. */
  readonly atMs: number;
}

/** A real HTTP proxy in front of a service that can inject faults. */
export interface FaultProxy extends AsyncDisposable {
  readonly url: string;
  /** Every received request, oldest first, including failed ones, but for those about parts of a registration. */
  readonly requests: readonly ProxiedRequest[];
  /** Those about parts of a registration: they come beside others, at any time, and have no faults. */
  readonly partRequests: readonly ProxiedRequest[];
  /** Applies the fault to the next `times` requests, then forwards again. Faults queue up. */
  inject(fault: Fault, times?: number): void;
  /** Drops queued faults. */
  clear(): void;
  /** Sends the held answers, including those of requests that have already arrived. */
  release(): void;
  /** Resolves once this many requests have arrived. Only the test's timeout limits it. */
  arrived(count: number): Promise<void>;
  /** Stops listening: connections are refused until `listen()`. */
  refuse(): Promise<void>;
  /** Listens again on the same port. */
  listen(): Promise<void>;
}

/** Of a path: what an agent sends in the background beside a registration. */
export function isAboutParts(path: string): boolean {
  return /\/(?:registration\/parts|contents\/[^/]+)$/.test(path);
}

export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const requests: ProxiedRequest[] = [];
  const partRequests: ProxiedRequest[] = [];
  const faults: { readonly fault: Fault; times: number }[] = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  let held: (() => void)[] = [];
  let port = 0;
  let kept: Disposable | null = null;

  const server = createServer((incoming, response) => {
    // A client that disconnects early is a case to test, not a failure of the proxy.
    response.on("error", () => {});
    void handle(incoming, response).catch(() => response.destroy());
  });

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readAll(incoming);
    const { method = "", url = "", headers } = incoming;
    const isOfParts = isAboutParts(url);
    (isOfParts ? partRequests : requests).push({
      method,
      path: url,
      headers,
      body: body.toString("utf8"),
      atMs: performance.now(),
    });
    for (const waiter of waiting.splice(0)) {
      if (requests.length >= waiter.count) waiter.resolve();
      else waiting.push(waiter);
    }
    await answer(isOfParts ? null : nextFault(), { method, url, headers, body }, response);
  }

  function nextFault(): Fault | null {
    const next = faults[0];
    if (next === undefined) return null;
    next.times -= 1;
    if (next.times <= 0) faults.shift();
    return next.fault;
  }

  async function answer(fault: Fault | null, forwarded: Forwarded, response: ServerResponse): Promise<void> {
    switch (fault?.kind) {
      case undefined:
        return deliver(await forward(target, forwarded), response);
      case "answer":
        response.writeHead(fault.status, { ...fault.headers }).end(fault.body ?? "");
        return;
      case "drop-before":
        response.socket?.resetAndDestroy();
        return;
      case "drop-after":
        await forward(target, forwarded);
        response.socket?.resetAndDestroy();
        return;
      case "truncate": {
        const answered = await forward(target, forwarded);
        response.writeHead(answered.status, answered.headers);
        response.write(answered.body.subarray(0, Math.floor(answered.body.byteLength / 2)), () =>
          response.socket?.destroy(),
        );
        return;
      }
      case "delay": {
        const answered = await forward(target, forwarded);
        setTimeout(() => deliver(answered, response), fault.delayMs).unref();
        return;
      }
      case "hold": {
        const released = Promise.withResolvers<void>();
        held.push(released.resolve);
        const answered = await forward(target, forwarded);
        await released.promise;
        return deliver(answered, response);
      }
      case "hang":
        return;
    }
  }

  async function listen(): Promise<void> {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address !== null && typeof address !== "string") port = address.port;
    kept?.[Symbol.dispose]();
    kept = null;
  }

  async function close(): Promise<void> {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }

  async function refuse(): Promise<void> {
    kept = await keepPort(port, close);
  }

  await listen();
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    partRequests,
    inject: (fault, times = 1) => void faults.push({ fault, times }),
    clear: () => void faults.splice(0),
    release() {
      for (const sendOn of held) sendOn();
      held = [];
    },
    arrived(count) {
      if (requests.length >= count) return Promise.resolve();
      return new Promise((resolve) => {
        waiting.push({ count, resolve });
      });
    },
    refuse,
    listen,
    async [Symbol.asyncDispose]() {
      kept?.[Symbol.dispose]();
      if (server.listening) await close();
    },
  };
}

interface Forwarded {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A new connection for each request, so that the proxy does not hide connection handling. */
async function forward(target: string, { method, url, headers, body }: Forwarded): Promise<Answered> {
  const { hostname, port } = new URL(target);
  const { "transfer-encoding": _chunked, connection: _connection, ...passed } = headers;
  const outgoing = sendRequest({ hostname, port, method, path: url, agent: false, headers: passed });
  outgoing.end(body);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once("response", resolve);
    outgoing.once("error", reject);
  });
  return { status: response.statusCode ?? 502, headers: response.headers, body: await readAll(response) };
}

function deliver({ status, headers, body }: Answered, response: ServerResponse): void {
  const { connection: _connection, "keep-alive": _keepAlive, ...passed } = headers;
  response.writeHead(status, passed).end(body);
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
