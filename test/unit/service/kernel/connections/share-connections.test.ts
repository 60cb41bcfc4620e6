import { EventEmitter } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";

import { afterEach, describe, expect, it } from "vitest";

import { shareConnections } from "../../../../../src/service/kernel/connections/share-connections.ts";
import { eventually } from "../../../../support/eventually.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server with three places, and clients on loopback addresses, each of which counts on its own. */
async function scene(ofAddress = 3) {
  const server: Server = createServer();
  shareConnections(server, { all: 3, ofAddress });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  closers.push(() => void server.close());
  const open = async (localAddress: string): Promise<Socket> => {
    const client = connect({ port, host: "127.0.0.1", localAddress });
    client.on("error", () => {});
    closers.push(() => void client.destroy());
    await new Promise((resolve) => {
      client.once("connect", resolve);
    });
    return client;
  };
  const closed = (client: Socket) => eventually(async () => (client.destroyed ? true : undefined), "the end");
  return { open, closed };
}

describe("shareConnections", () => {
  it("server full → closes the newest connection of the address with the most for another address, one's own newest for oneself", async () => {
    const { open, closed } = await scene();
    const greedy = [await open("127.0.0.2"), await open("127.0.0.2"), await open("127.0.0.2")];
    greedy.map((client) => client.resume());
    const other = (await open("127.0.0.3")).resume();
    expect(await closed(greedy[2]!)).toBe(true);
    const third = (await open("127.0.0.2")).resume();
    expect(await closed(third)).toBe(true);
    expect([greedy[0], greedy[1], other].map((client) => client?.destroyed)).toEqual([false, false, false]);
  });

  it("connection ended → its place is free", async () => {
    const { open, closed } = await scene();
    const first = [await open("127.0.0.2"), await open("127.0.0.2"), await open("127.0.0.2")];
    for (const client of first) client.destroy();
    await eventually(async () => {
      const tries = [await open("127.0.0.4"), await open("127.0.0.4"), await open("127.0.0.4")];
      await setImmediate();
      const isFull = tries.some((client) => client.resume().destroyed);
      if (isFull) for (const client of tries) client.destroy();
      return isFull ? undefined : tries;
    }, "room for three");
    const fourth = (await open("127.0.0.4")).resume();
    expect(await closed(fourth)).toBe(true);
  });

  it("address at its own limit → loses its newest, although there is room", async () => {
    const { open, closed } = await scene(2);
    const own = [await open("127.0.0.2"), await open("127.0.0.2"), await open("127.0.0.2")];
    expect(await closed(own[2]!.resume())).toBe(true);
    expect([own[0]!.destroyed, own[1]!.destroyed, (await open("127.0.0.3")).destroyed]).toEqual([false, false, false]);
  });

  it("IPv6 clients → counted by their /48", () => {
    const server = new EventEmitter();
    // A partial server, because loopback has no addresses of other networks.
    shareConnections(server as Server, { all: 2, ofAddress: 2 });
    const sockets = ["2001:db8:1:1::1", "2001:db8:1:2::1", "2001:db8:2:1::1"].map((remoteAddress) => {
      const socket = Object.assign(new EventEmitter(), { remoteAddress, destroyed: false, destroy: () => {} });
      socket.destroy = () => void (socket.destroyed = true);
      return socket;
    });
    for (const socket of sockets) server.emit("connection", socket);
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, true, false]);
  });
});
