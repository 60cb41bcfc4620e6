import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

import { expect, it, onTestFinished } from "vitest";

import { paceClosing } from "../../../../../src/service/kernel/connections/pace-connections.ts";

it.each([
  ["close", (socket: Socket) => socket.end()],
  ["reset", (socket: Socket) => socket.resetAndDestroy()],
])(
  "hundreds of connections that clients %s at once → a few are closed in each turn of the event loop",
  async (_how, end) => {
    const server = createServer();
    paceClosing(server);
    let turn = 0;
    let accepted = 0;
    const closed: number[] = [];
    server.on("connection", (socket: Socket) => {
      accepted += 1;
      socket.on("close", () => closed.push(turn));
    });
    server.listen({ port: 0, host: "127.0.0.1", backlog: 500 });
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const sockets = Array.from({ length: 300 }, () => connect({ port, host: "127.0.0.1" }).on("error", () => {}));
    await expect.poll(() => accepted).toBe(sockets.length);

    const count = () => {
      turn += 1;
      if (closed.length < sockets.length) setImmediate(count);
    };
    setImmediate(count);
    for (const socket of sockets) end(socket);
    await expect.poll(() => closed.length).toBe(sockets.length);
    const perTurn = Map.groupBy(closed, (each) => each);
    // Those closed at once, and those that waited.
    expect(Math.max(...[...perTurn.values()].map(({ length }) => length))).toBeLessThanOrEqual(2 * 16);
  },
);
