/** The power comes back at a site: ten thousand robots behind one address, with one key, register within the same second. */
import { EventEmitter } from "node:events";
import { IncomingMessage, ServerResponse } from "node:http";
import { type Server, Socket } from "node:net";

import { describe, expect, it } from "vitest";

import { shareConnections } from "../../../../../src/service/kernel/connections/share-connections.ts";
import { HTTP_LIMITS, RATE_LIMITS } from "../../../../../src/service/kernel/traffic/limits.ts";
import { createRateLimiter } from "../../../../../src/service/kernel/traffic/rate-limiter.ts";
import { createTraffic } from "../../../../../src/service/kernel/traffic/traffic.ts";

const ROBOTS = 10_000;
const BODY_BYTES = 2048;
const ADDRESS = "192.0.2.1";
const every = <T>(what: (index: number) => T): readonly T[] =>
  Array.from({ length: ROBOTS }, (_, index) => what(index));

describe("the default limits, for a site of 10,000 robots", () => {
  it("let each robot send two requests with one key for all, or with one of its own", () => {
    const clock = { wallMs: () => 0, monotonicMs: () => 0, sleep: () => Promise.reject(new Error("nobody sleeps")) };
    const limiter = createRateLimiter(RATE_LIMITS, clock);
    const ask = (credentialId: string) => limiter.onCredential({ credentialId, organizationId: "org_1" }).state;
    const states = [1, 2].flatMap(() => every(() => ask("key_1")).concat(every((index) => ask(`rinst_${index}`))));
    expect(new Set(states)).toEqual(new Set(["allowed"]));
  });

  it("let all requests wait at once, with their bodies", async () => {
    const { begin } = createTraffic(HTTP_LIMITS, () => {});
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    response.setMaxListeners(0);
    const requests = every(() => begin("org_1", true, BODY_BYTES, response));
    const working = requests.map(async (request) =>
      "status" in request ? "refused" : request.work(async () => "done"),
    );
    expect(new Set(await Promise.all(working))).toEqual(new Set(["done"]));
  });

  it("keep one connection per robot, and a thousand others", () => {
    const server = new EventEmitter();
    // A partial server.
    shareConnections(server as Server, { all: HTTP_LIMITS.connections, ofAddress: HTTP_LIMITS.connectionsOfAddress });
    let lost = 0;
    const connect = (remoteAddress: string) =>
      server.emit("connection", Object.assign(new EventEmitter(), { remoteAddress, destroy: () => (lost += 1) }));
    every(() => connect(ADDRESS));
    for (let other = 0; other < 1000; other += 1) connect(`198.51.${other >> 8}.${other & 255}`);
    expect(lost).toBe(0);
  });
});
