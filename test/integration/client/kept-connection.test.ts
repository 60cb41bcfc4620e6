/** The connection that heartbeats keep: used again while it stands, and replaced at once when it does not. */
import type { Socket } from "node:net";

import { expect, test } from "vitest";

import { createIdentityClient } from "../../../src/client/identity-client.ts";
import { Secret } from "../../../src/client/secret.ts";
import type { Transport } from "../../../src/client/transport/transport.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { PushedClock } from "../../support/pushed-clock.ts";
import { RobotComputer } from "../../support/service/robot-computer.ts";
import { startService } from "../../support/service/service.ts";
import { startTcpProxy } from "../../support/service/tcp-proxy.ts";
import { createAuthority } from "./authority.ts";
import { BODY } from "./harness.ts";
import { CANARY, clientOf, never, PATIENT, transportOf } from "./program.ts";
import { serveHttp, serveHttps, serveProxy, serveTcp } from "./servers.ts";

const TERMS = JSON.stringify({ credential_expires_at: "2030-01-01T00:00:00Z", renew_after_s: 50_000 });
const ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${TERMS.length}\r\n\r\n${TERMS}`;
const ACCEPTED = { kind: "ok", value: JSON.parse(TERMS) as unknown };

function heartbeats(baseUrl: string, transport: Transport, token = CANARY) {
  const access = { baseUrl, transport, clock: systemClock, userAgent: "test/1", timeouts: PATIENT };
  const client = createIdentityClient(access);
  return (signal = never()) => client.heartbeat({ readiness: "ready" }, new Secret(token), signal);
}

/** Answers each heartbeat, but leaves what comes after the first one of the first connection to `then`. */
async function serveTwoConnections(then: (first: Socket) => void, early: (first: Socket) => void = () => {}) {
  const counts = { connections: 0, heartbeats: 0 };
  const server = await serveTcp((socket) => {
    const isFirst = (counts.connections += 1) === 1;
    let isAnswered = false;
    socket.on("data", (chunk) => {
      if (!chunk.includes("PUT /v1/robot-agent/heartbeat ")) return;
      counts.heartbeats += 1;
      if (isFirst && isAnswered) then(socket);
      else socket.write(ANSWER, () => isFirst && early(socket));
      isAnswered = true;
    });
  });
  return { counts, url: `http://127.0.0.1:${server.port}`, [Symbol.asyncDispose]: server[Symbol.asyncDispose] };
}

test("heartbeat: ten at our service open one connection", async () => {
  await using service = await startService();
  await using proxy = await startTcpProxy(service.url);
  const robot = new RobotComputer(() => service.url);
  const started = await robot.start();
  await service.send("POST", "/v1/robots/approve", { user_code: started.user_code });
  await robot.poll(started);
  const transport = transportOf({});
  const beat = heartbeats(proxy.url, transport, robot.token ?? "");
  for (let count = 0; count < 10; count += 1) expect(await beat()).toMatchObject({ kind: "ok" });
  expect(proxy.taken).toBe(1);
  await transport.close();
});

test.each<[string, (first: Socket) => void]>([
  ["ended", (first) => void first.end()],
  ["was reset", (first) => void first.resetAndDestroy()],
  ["ended with an answer that nobody asked for", (first) => void first.end("HTTP/1.1 408 Request Timeout\r\n\r\n")],
])("heartbeat: the kept connection %s meanwhile → the next one goes over a new connection", async (_what, end) => {
  const ended = Promise.withResolvers<void>();
  await using server = await serveTwoConnections(
    () => {},
    (first) => {
      first.once("close", ended.resolve);
      end(first);
    },
  );
  const transport = transportOf({});
  const beat = heartbeats(server.url, transport);
  expect(await beat()).toMatchObject(ACCEPTED);
  await ended.promise;
  expect(await beat()).toMatchObject(ACCEPTED);
  expect(server.counts).toEqual({ connections: 2, heartbeats: 2 });
  await transport.close();
});

test.each<[string, (first: Socket, clock: PushedClock) => void]>([
  ["breaks without an answer", (first) => void first.resetAndDestroy()],
  ["is half-open", (_first, clock) => clock.push(PATIENT.connectMs)],
])("heartbeat: the kept connection %s → it is sent again at once, over a new one", async (_what, fail) => {
  const clock = new PushedClock();
  await using server = await serveTwoConnections((first) => fail(first, clock));
  const transport = transportOf({ clock });
  const beat = heartbeats(server.url, transport);
  expect(await beat()).toMatchObject(ACCEPTED);
  expect(await beat()).toMatchObject(ACCEPTED);
  expect(server.counts).toEqual({ connections: 2, heartbeats: 3 });
  expect(await beat()).toMatchObject(ACCEPTED);
  expect(server.counts).toEqual({ connections: 2, heartbeats: 4 });
  await transport.close();
});

test("heartbeat: an abort on the kept connection ends it, and nothing is sent again", async () => {
  const abort = new AbortController();
  await using server = await serveTwoConnections(() => abort.abort());
  const transport = transportOf({});
  const beat = heartbeats(server.url, transport);
  await beat();
  expect(await beat(abort.signal)).toMatchObject({ kind: "unreachable", reason: "aborted" });
  expect(server.counts).toEqual({ connections: 1, heartbeats: 2 });
  await transport.close();
});

test("heartbeat: after ten minutes over a new connection, which notices another route or certificate", async () => {
  const clock = new PushedClock();
  await using server = await serveTwoConnections((first) => void first.write(ANSWER));
  const transport = transportOf({ clock });
  const beat = heartbeats(server.url, transport);
  await beat();
  clock.push(9 * 60_000);
  await beat();
  expect(server.counts).toEqual({ connections: 1, heartbeats: 2 });
  clock.push(60_000);
  expect(await beat()).toMatchObject(ACCEPTED);
  expect(server.counts).toEqual({ connections: 2, heartbeats: 3 });
  await transport.close();
});

test("heartbeat: through a proxy to a service with a private certificate, one tunnel is asked for", async () => {
  using authority = createAuthority();
  await using server = await serveHttps(authority.issue("service.test"), (_request, response) => response.end(TERMS));
  await using proxy = await serveProxy(null);
  const transport = transportOf({ proxy: `http://127.0.0.1:${proxy.port}`, caFile: authority.ca_file });
  const beat = heartbeats(`https://service.test:${server.port}`, transport);
  for (let count = 0; count < 3; count += 1) expect(await beat()).toMatchObject(ACCEPTED);
  expect(proxy.asked).toHaveLength(1);
  await transport.close();
});

test("a client that closes, and any request but a heartbeat, leave no connection open", async () => {
  await using server = await serveHttp((_request, response) => response.end(TERMS));
  const url = `http://127.0.0.1:${server.port}`;
  const transport = transportOf({});
  await heartbeats(url, transport)();
  expect(server.sockets.size).toBe(1);
  await transport.close();
  await expect.poll(() => server.sockets.size).toBe(0);
  await clientOf(url).setupRobot(BODY, never());
  await expect.poll(() => server.sockets.size).toBe(0);
});
