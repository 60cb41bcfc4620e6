import { once } from "node:events";
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";

import type { Certified } from "./authority.ts";

export interface Listening extends AsyncDisposable {
  readonly port: number;
  /** Open connections. */
  readonly sockets: ReadonlySet<Socket>;
}

/** Serves on loopback until disposed, which cuts every connection. */
async function listen(server: Server): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

export function serveHttp(handler: RequestListener): Promise<Listening> {
  return listen(createHttpServer(handler));
}

export function serveHttps(certified: Certified, handler: RequestListener): Promise<Listening> {
  return listen(createHttpsServer(certified, handler));
}

/** A TCP server; `talk` gets each connection. */
export function serveTcp(talk: (socket: Socket) => void): Promise<Listening> {
  return listen(createTcpServer(talk));
}

/** Waits for the first data of a request, then writes `answer` unchanged. */
export function serveRaw(answer: string | Uint8Array, after: "close" | "reset" | "keep-open"): Promise<Listening> {
  return serveTcp((socket) => {
    socket.once("data", () => {
      socket.write(answer, () => {
        if (after === "close") socket.end();
        if (after === "reset") socket.resetAndDestroy();
      });
    });
  });
}

/**
 * A port that answers no connection attempt: its queue of unaccepted connections is full, so Linux drops them. After `untilMs` it answers
 * the next one, as over a slow link, with an empty list of robots.
 */
export async function serveDropped(untilMs = Infinity): Promise<{ readonly port: number } & AsyncDisposable> {
  const worker = new Worker(
    `const { parentPort, workerData } = require("node:worker_threads");
     const server = require("node:http").createServer((_, response) => response.end("[]"));
     server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
       parentPort.postMessage(server.address().port);
       setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, workerData));
     });`,
    { eval: true, workerData: untilMs },
  );
  const [port] = (await once(worker, "message")) as [number];
  const fillers: Socket[] = [];
  for (;;) {
    const filler = connect(port, "127.0.0.1").on("error", () => {});
    fillers.push(filler);
    const connected = once(filler, "connect");
    await Promise.race([connected, sleep(300)]);
    // On a busy machine the timer may fire first; events that have happened by then are handled in the next turn.
    await nextTurn();
    if (filler.connecting) break;
  }
  return {
    port,
    async [Symbol.asyncDispose]() {
      for (const filler of fillers) filler.destroy();
      await worker.terminate();
    },
  };
}

export interface ProxyServer extends Listening {
  /** The requests: `CONNECT host:port` or `GET http://…`, and their credentials. */
  readonly requests: { readonly what: string; readonly authorization: string | undefined }[];
}

/**
 * A forwarding proxy that connects to loopback for every host, so that tests can use names that do not resolve.
 *
 * @param wanted value of Proxy-Authorization to require, or null.
 */
export async function serveProxy(wanted: string | null, certified?: Certified): Promise<ProxyServer> {
  const requests: ProxyServer["requests"] = [];
  const admits = (what: string, request: IncomingMessage) => {
    const authorization = request.headers["proxy-authorization"];
    requests.push({ what, authorization });
    return wanted === null || authorization === wanted;
  };
  const forward: RequestListener = (request: IncomingMessage, response: ServerResponse) => {
    if (!admits(`${request.method} ${request.url}`, request)) {
      response.writeHead(407, { "proxy-authenticate": "Basic" }).end(`you sent ${JSON.stringify(request.headers)}`);
      return;
    }
    response.setHeader("content-type", "application/json");
    response.end("[]");
  };
  const server = certified === undefined ? createHttpServer(forward) : createHttpsServer(certified, forward);
  server.on("connect", (request: IncomingMessage, socket: Socket) => {
    socket.on("error", () => {});
    if (!admits(`CONNECT ${request.url}`, request)) {
      socket.end(`HTTP/1.1 407 No\r\nproxy-authenticate: Basic\r\n\r\nyou sent ${JSON.stringify(request.headers)}`);
      return;
    }
    const upstream = connect(Number(request.url?.split(":").at(-1)), "127.0.0.1");
    upstream.on("error", () => socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n"));
    upstream.on("connect", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      upstream.pipe(socket).pipe(upstream);
    });
    socket.on("close", () => upstream.destroy());
    upstream.on("close", () => socket.destroy());
  });
  const listening = await listen(server);
  return Object.assign(listening, { requests });
}
