import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

import { keepPort } from "./keep-port.ts";

/** A TCP proxy that can fall silent and recover, for streams too. */
export interface TcpProxy extends AsyncDisposable {
  readonly url: string;
  /** Passes nothing in either direction and closes nothing; new connections are accepted and hang. */
  freeze(): void;
  /** Passes everything again; held data is delivered. */
  thaw(): void;
  /** Closes every connection and accepts none, like a machine whose service was killed. */
  refuse(): Promise<void>;
  /** Accepts connections again at the same address. */
  listen(): Promise<void>;
}

export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port: targetPort } = new URL(target);
  const sockets = new Set<Socket>();
  let isFrozen = false;
  let port = 0;
  let kept: Disposable | null = null;

  const server = createServer((client) => {
    const upstream = connect(Number(targetPort), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => {});
      from.on("data", (chunk: Buffer) => to.write(chunk));
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      if (isFrozen) from.pause();
    }
  });

  async function listen(): Promise<void> {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    ({ port } = server.address() as AddressInfo);
    kept?.[Symbol.dispose]();
    kept = null;
  }

  async function close(): Promise<void> {
    const closed = once(server, "close");
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  async function refuse(): Promise<void> {
    kept = await keepPort(port, close);
  }

  await listen();
  return {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    freeze() {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw() {
      isFrozen = false;
      for (const socket of sockets) socket.resume();
    },
    refuse,
    listen,
    async [Symbol.asyncDispose]() {
      kept?.[Symbol.dispose]();
      if (server.listening) await close();
    },
  };
}
