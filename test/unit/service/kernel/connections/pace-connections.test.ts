/** @module-tag needs/program */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { connect as connectTls } from "node:tls";

import { describe, expect, it, onTestFinished } from "vitest";

import { paceConnections } from "../../../../../src/service/kernel/connections/pace-connections.ts";
import { connectionAccepted } from "../../../../../src/service/kernel/traffic/event-loop.ts";
import { createAuthority } from "../../../../integration/client/authority.ts";

/** The first bytes of a client, and a server that calls `onBegun` once it has read them. */
interface Scene {
  readonly first: string | Buffer;
  create(onBegun: () => void): Server;
}

const SCENES: Readonly<Record<string, () => Promise<Scene>>> = {
  "a request": async () => ({
    first: "GET / HTTP/1.1\r\nhost: x\r\n\r\n",
    create: (onBegun) =>
      createHttpServer((_request, response) => {
        onBegun();
        response.end();
      }),
  }),
  "a TLS handshake": async () => {
    using authority = createAuthority();
    const certified = authority.issue("localhost");
    const create = (onBegun: () => void) =>
      createHttpsServer({
        ...certified,
        SNICallback(_name, done) {
          onBegun();
          done(null);
        },
      });
    return { first: await clientHello(), create };
  },
};

it.each(Object.entries(SCENES))(
  "hundreds connect and send %s → a few begin in each turn: all are accepted soon, other addresses do not wait",
  async (_what, scene) => {
    const { first, create } = await scene();
    let turn = 0;
    let accepted = 0;
    let acceptedBeforeHalf = 0;
    const begun: number[] = [];
    const addressesBegun: string[] = [];
    let bytesReadBefore = 0;
    const server = create(() => {
      if (begun.length === 100) acceptedBeforeHalf = accepted;
      begun.push(turn);
    });
    // Node's own listener is called when a connection begins.
    server.prependListener("connection", ({ remoteAddress, bytesRead }) => {
      addressesBegun.push(remoteAddress ?? "");
      bytesReadBefore += bytesRead;
    });
    paceConnections(server);
    server.on("connection", () => void (accepted += 1)).on("connection", connectionAccepted);
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
      if (begun.length < sockets.length) setImmediate(count);
    };
    for (const socket of sockets) socket.write(first);
    setImmediate(count);
    await expect.poll(() => begun.length).toBe(sockets.length);

    // Waiting connections use no memory for received data.
    expect(bytesReadBefore).toBe(0);
    expect(acceptedBeforeHalf).toBe(sockets.length);
    // The first ones begin at once.
    const perTurn = Map.groupBy(begun.slice(32), (each) => each);
    expect(Math.max(...[...perTurn.values()].map(({ length }) => length))).toBeLessThanOrEqual(4);
    // It was accepted last.
    expect(addressesBegun.indexOf("127.0.0.2")).toBeLessThan(sockets.length - 50);
  },
);

it("client disconnects before its connection begins → forgotten", async () => {
  const server = createHttpServer();
  paceConnections(server);
  server.on("connection", (socket) => socket.destroy(new Error("reset")));
  let begun = 0;
  server.on("request", () => (begun += 1));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: "127.0.0.1" });
  client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  await once(client, "close");
  expect(begun).toBe(0);
});

describe("over TLS, a connection", () => {
  async function scene(silentMs = 60_000) {
    using authority = createAuthority();
    const server = createHttpsServer(authority.issue("localhost"), (_request, response) => response.end("answer"));
    let begun = 0;
    server.prependListener("connection", () => (begun += 1));
    paceConnections(server, silentMs);
    server.on("tlsClientError", () => {});
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const client = connect({ port, host: "127.0.0.1" });
    client.on("error", () => {});
    onTestFinished(() => void client.destroy());
    const [socket]: Socket[] = await once(server, "connection");
    return { client, socket, begun: () => begun };
  }

  it("first bytes arrive → begins, no byte is lost", async () => {
    const { client, socket, begun } = await scene();
    await turnOfLoop();
    expect(begun()).toBe(0);
    expect(socket?.timeout).toBe(60_000);
    const secure = connectTls({ socket: client, servername: "localhost", rejectUnauthorized: false });
    secure.end("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    const [bytes] = await once(secure, "data");
    expect(String(bytes)).toMatch(/^HTTP\/1.1 200/);
    expect(begun()).toBe(1);
    // Further silence is up to Node.
    expect(socket?.timeout).toBe(0);
  });

  it("hundreds send their first bytes at once → few begin in each turn", async () => {
    const { first, create } = await SCENES["a TLS handshake"]!();
    let turn = 0;
    const begun: number[] = [];
    const server = create(() => begun.push(turn));
    paceConnections(server, 60_000);
    let accepted = 0;
    server.on("connection", () => (accepted += 1)).listen({ port: 0, host: "127.0.0.1", backlog: 1000 });
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const sockets = Array.from({ length: 200 }, () => connect({ port, host: "127.0.0.1" }));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    await expect.poll(() => accepted).toBe(sockets.length);
    const count = () => {
      turn += 1;
      if (begun.length < sockets.length) setImmediate(count);
    };
    setImmediate(count);
    for (const socket of sockets) socket.write(first);
    await expect.poll(() => begun.length).toBe(sockets.length);
    const perTurn = Map.groupBy(begun.slice(32), (each) => each);
    expect(Math.max(...[...perTurn.values()].map(({ length }) => length))).toBeLessThanOrEqual(4);
  });

  it.each([
    ["that sends nothing", 50, (_client: Socket) => {}],
    ["that ends without a byte", 60_000, (client: Socket) => client.end()],
    ["whose first bytes are more than a client hello", 60_000, (client: Socket) => client.write(Buffer.alloc(60_000))],
  ])("%s → closed, never begins", async (_what, silentMs, act) => {
    const { client, begun } = await scene(silentMs);
    act(client.resume());
    await once(client, "close");
    expect(begun()).toBe(0);
  });
});

/** The first bytes of a TLS client. */
async function clientHello(): Promise<Buffer> {
  await using server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connectTls({
    port: (server.address() as AddressInfo).port,
    host: "127.0.0.1",
    servername: "localhost",
  });
  client.on("error", () => {});
  const [socket] = await once(server, "connection");
  const [bytes] = await once(socket, "data");
  client.destroy();
  socket.destroy();
  return bytes;
}
