import { once } from "node:events";
import { createServer } from "node:net";

import { expect, test } from "vitest";

import { checkTcp } from "../../../src/agent/doctor/network.ts";
import { connectTcp, connectToFirst } from "../../../src/platform/connect-tcp.ts";
import { createOutgoing } from "../../../src/service/kernel/outgoing.ts";
import { PATIENCE_MS } from "../../support/run/patience.ts";
import { listed } from "./harness.ts";
import { never } from "./program.ts";
import { serveDropped, serveHttp } from "./servers.ts";

/** Node gives an address up after 250 ms, or the time it is told, if there is another one. */
const LINK_MS = 1700;
const ADDRESSES = ["127.0.0.1", "::1"];

test.concurrent.each([
  ["the client of a service", (port: number) => listed(`http://localhost:${port}`), { kind: "ok" }],
  [
    "doctor",
    (port: number) =>
      checkTcp({ host: "arm.test", port, program: "service", setting: "service.url" }, ADDRESSES, never()),
    { verdict: { status: "ok" } },
  ],
  [
    "requests of the service",
    async (port: number) => {
      await using outgoing = createOutgoing({
        timeoutMs: PATIENCE_MS,
        answerBytes: 1024,
        lookup: (_host, _options, answer) =>
          answer(
            null,
            ADDRESSES.map((address) => ({ address, family: 0 })),
          ),
      });
      return await outgoing.send(`http://policy.test:${port}/healthz`, { headers: {} }, never());
    },
    { state: "answered", status: 200 },
  ],
])("%s: a slow address that works, and one that does not → connected", async (_who, send, expected) => {
  await using listener = await serveDropped(LINK_MS);
  expect(await send(listener.port)).toMatchObject(expected);
});

test("connectToFirst: the first address does not answer → connected to the second", async () => {
  await using silent = await serveDropped();
  const server = createServer().listen(silent.port, "127.0.0.2");
  await once(server, "listening");
  const socket = await connectToFirst(["127.0.0.1", "127.0.0.2"], silent.port, never());
  expect(socket.remoteAddress).toBe("127.0.0.2");
  socket.destroy();
  server.close();
});

test("connectToFirst: an abort ends all attempts, and closes a connection later", async () => {
  await using silent = await serveDropped();
  const stop = new AbortController();
  const attempt = connectToFirst(["127.0.0.1", "127.0.0.1"], silent.port, stop.signal);
  stop.abort(new Error("enough"));
  await expect(attempt).rejects.toThrow("enough");
  await using server = await serveHttp((_request, response) => response.end());
  const later = new AbortController();
  const socket = await connectToFirst(["127.0.0.1"], server.port, later.signal);
  later.abort();
  expect(socket.destroyed).toBe(true);
});

test.each([
  ["nothing listens at any", ["127.0.0.1", "127.0.0.2"], "ECONNREFUSED"],
  ["no route to one, nothing listens at the other", ["::ffff:255.255.255.255", "127.0.0.1"], "ECONNREFUSED"],
])("connectToFirst: %s → the error that says most", async (_name, addresses, code) => {
  await expect(connectToFirst(addresses, 1, never())).rejects.toMatchObject({ code });
});

test("connectTcp: a name server that does not answer → an abort ends the wait", async () => {
  const stop = new AbortController();
  const attempt = connectTcp("policy.test", 1, stop.signal, () => stop.abort(new Error("enough")));
  await expect(attempt).rejects.toThrow("enough");
});
