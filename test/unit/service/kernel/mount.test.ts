import { once } from "node:events";
import { connect, type Socket } from "node:net";

import fastify from "fastify";
import { expect, it, onTestFinished } from "vitest";

import { answerJson, type AnyAnswer } from "../../../../src/service/kernel/http/answers.ts";
import type { Gate } from "../../../../src/service/kernel/http/gate.ts";
import { route } from "../../../../src/service/kernel/http/mount.ts";
import { HTTP_LIMITS, type HttpLimits, type Limit } from "../../../../src/service/kernel/traffic/limits.ts";
import { createTraffic } from "../../../../src/service/kernel/traffic/traffic.ts";

const gate: Gate = { admit: async () => ({ state: "admitted", principal: null, headers: {} }) };

/** A path with this answer and these limits, and the limits that were met. */
function serve(method: "GET" | "POST", limits: Partial<HttpLimits>, answer: () => Promise<AnyAnswer>) {
  const heldBack: Limit[] = [];
  const traffic = createTraffic({ ...HTTP_LIMITS, ...limits }, (limit) => void heldBack.push(limit));
  const app = fastify({ forceCloseConnections: true });
  onTestFinished(() => app.close());
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, bytes, done) => done(null, bytes));
  route(app, { gate, traffic }, { method, path: "/", scopes: "public" }, answer);
  return { app, heldBack };
}

const sharesOf = (shares: Partial<HttpLimits["inFlightBytes"]>) => ({
  inFlightBytes: { ...HTTP_LIMITS.inFlightBytes, ...shares },
});

it.each([
  ["all", 503, "Too many large requests are in flight", "limits.in_flight_mib.all"],
  [
    "own",
    429,
    "Too many large requests of this organization or address are in flight",
    "limits.in_flight_mib.organization",
  ],
] as const)("no room for bodies of %s → 503 or 429 with Retry-After", async (whose, status, detail, limit) => {
  const isBegun = Promise.withResolvers<void>();
  const isOver = Promise.withResolvers<void>();
  const { app, heldBack } = serve("POST", sharesOf({ [whose]: 100 }), async () => {
    isBegun.resolve();
    await isOver.promise;
    return answerJson("{}");
  });
  const send = (bytes: number) => app.inject({ method: "POST", url: "/", body: Buffer.alloc(bytes) });
  const first = send(60);
  await isBegun.promise;
  const refused = await send(60);
  expect([refused.statusCode, refused.headers["retry-after"], refused.json().detail]).toEqual([status, "1", detail]);
  const small = send(40);
  isOver.resolve();
  expect([(await first).statusCode, (await small).statusCode, heldBack]).toEqual([200, 200, [limit]]);
});

it("announced body → counts until its client disconnects", async () => {
  const { app } = serve("POST", sharesOf({ own: 100 }), async () => answerJson("{}"));
  const url = await app.listen();
  const status = async () => (await fetch(url, { method: "POST", body: "x".repeat(60) })).status;
  expect(await status()).toBe(200);
  const socket = await ask(url, "POST / HTTP/1.1\r\ncontent-length: 60");
  await expect.poll(status).toBe(429);
  socket.destroy();
  await expect.poll(status).toBe(200);
});

const PART = "x".repeat(1024 * 1024);

/** An endless list. Records the parts taken from it, and whether the consumer released it. */
function endless() {
  const taken = { parts: 0, isOver: false };
  async function* parts() {
    try {
      for (;;) {
        taken.parts += 1;
        yield PART;
      }
    } finally {
      taken.isOver = true;
    }
  }
  return { taken, answer: async (): Promise<AnyAnswer> => ({ status: 200, parts: parts() }) };
}

/** Sends the request's head and reads nothing. */
async function ask(address: string, head = "GET / HTTP/1.1"): Promise<Socket> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  socket.pause().write(`${head}\r\nhost: service\r\n\r\n`);
  await once(socket, "connect");
  return socket;
}

it("client does not read its answer → disconnected, only as much is generated as fits the connection", async () => {
  const { taken, answer } = endless();
  const { app } = serve("GET", {}, answer);
  app.server.setTimeout(50);
  const socket = await ask(await app.listen());
  await expect.poll(() => taken.isOver).toBe(true);
  expect(taken.parts).toBeLessThan(50);
  socket.resume();
  await once(socket, "close");
});

it("client reads a long answer → not disconnected", async () => {
  const { taken, answer } = endless();
  const { app } = serve("GET", {}, answer);
  const socket = await ask(await app.listen());
  socket.resume();
  await expect.poll(() => taken.parts).toBeGreaterThan(100);
  expect([taken.isOver, socket.destroyed]).toEqual([false, false]);
});

it("unread answers → no room for others until their clients disconnect", async () => {
  const { taken, answer } = endless();
  const { app, heldBack } = serve("GET", sharesOf({ own: 1024 * 1024 }), answer);
  const url = await app.listen();
  const socket = await ask(url);
  await expect.poll(() => taken.parts).toBeGreaterThan(0);
  const refused = await fetch(url);
  expect([refused.status, refused.headers.get("retry-after"), heldBack]).toEqual([
    429,
    "1",
    ["limits.in_flight_mib.organization"],
  ]);
  socket.destroy();
  await expect
    .poll(async () => {
      const again = await fetch(url);
      await again.body?.cancel();
      return again.status;
    })
    .toBe(200);
});
