import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";

import { expect, it, onTestFinished } from "vitest";

import { paceConnections } from "../../../../../src/service/kernel/connections/pace-connections.ts";
import { connectionAccepted } from "../../../../../src/service/kernel/traffic/event-loop.ts";

it("hundreds who connect are read from a few in a turn, so that they are accepted soon, and other addresses do not wait for them", async () => {
  let turn = 0;
  let accepted = 0;
  let acceptedBeforeHalf = 0;
  const read: { readonly address: string; readonly turn: number }[] = [];
  const server = createServer((request, response) => {
    if (read.length === 100) acceptedBeforeHalf = accepted;
    read.push({ address: request.socket.remoteAddress ?? "", turn });
    response.end();
  });
  server.on("connection", () => void (accepted += 1)).on("connection", connectionAccepted);
  paceConnections(server, "connection");
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1000 });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const addresses = [...Array.from({ length: 200 }, () => "127.0.0.1"), "127.0.0.2"];
  const sockets = addresses.map((localAddress) => connect({ port, host: "127.0.0.1", localAddress }));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const count = () => {
    turn += 1;
    if (read.length < sockets.length) setImmediate(count);
  };
  for (const socket of sockets) socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  setImmediate(count);
  await expect.poll(() => read.length).toBe(sockets.length);

  expect(acceptedBeforeHalf).toBe(sockets.length);
  // The first ones are read from at once.
  const perTurn = Map.groupBy(read.slice(32), (each) => each.turn);
  expect(Math.max(...[...perTurn.values()].map(({ length }) => length))).toBeLessThanOrEqual(4);
  // It was accepted last.
  expect(read.findIndex(({ address }) => address === "127.0.0.2")).toBeLessThan(read.length - 50);
});
