import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";

import { describe, expect, it } from "vitest";

import { HTTP_LIMITS } from "../../../../../src/service/kernel/traffic/limits.ts";
import { identifyClient } from "../../../../../src/service/kernel/traffic/parties.ts";
import { createTraffic } from "../../../../../src/service/kernel/traffic/traffic.ts";

const [SMALL, LARGE] = [4 * 1024, 4 * 1024 + 1];

/** Requests whose bodies are parsed, each with this duration; `waiting` of one party may wait. */
function traffic(bodyMs: number, waiting = HTTP_LIMITS.requests.own) {
  const order: string[] = [];
  let nowMs = 0;
  const limitsMet: string[] = [];
  const note = (limit: string, { party }: { readonly party: string }) => void limitsMet.push(`${limit} ${party}`);
  const { arrive, begin } = createTraffic(
    { ...HTTP_LIMITS, requests: { ...HTTP_LIMITS.requests, own: waiting } },
    { note },
    { monotonicMs: () => nowMs },
  );
  const read = (credential: string, name: string, bytes: number): Promise<unknown> => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    if (name === "gone") response.destroy();
    const passage = begin(identifyClient(credential, "192.0.2.1"), bytes, response);
    if ("status" in passage) throw new Error("There is no room");
    return passage.read(() => {
      order.push(name);
      nowMs += bodyMs;
      return name;
    });
  };
  /** A request that takes this long once it begins. */
  const request = async (address: string, name: string) => {
    if (await arrive(address)) {
      order.push(name);
      nowMs += bodyMs;
    } else {
      order.push(`${name} is refused`);
    }
  };
  return { order, read, request, limitsMet };
}

it("requests that arrive together begin over many turns of the event loop, round-robin over sites", async () => {
  const { order, request } = traffic(10);
  const requests = Array.from({ length: 100 }, (_, index) => request("192.0.2.1", `a${index}`));
  requests.push(request("192.0.2.2", "b"), request("2001:db8::1", "c0"), request("2001:db8:0:1::1", "c1"));
  let turns = 0;
  const count = () => {
    turns += 1;
    if (order.length < requests.length) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all(requests);
  expect(order.filter((name) => !name.startsWith("a"))).toEqual(["b", "c0", "c1"]);
  expect(order.indexOf("b")).toBeLessThan(10);
  // One IPv6 site counts as one requester, whatever addresses it uses.
  expect(order.indexOf("c1")).toBeGreaterThan(order.indexOf("c0") + 1);
  // Some begin during the time slice.
  expect(turns).toBeGreaterThan(30);
});

it("no more requests of one network than its share wait to begin", async () => {
  const { order, request, limitsMet } = traffic(0);
  await Promise.all(Array.from({ length: 10_002 }, (_, index) => request("192.0.2.1", `a${index}`)));
  expect(order.filter((name) => name.endsWith("is refused"))).toEqual(["a10001 is refused"]);
  expect(limitsMet).toEqual(["limits.waiting_requests 192.0.2.1"]);
});

it("large bodies are parsed one after the other, round-robin over clients, and requests that arrive in between begin", async () => {
  const { order, read } = traffic(50);
  const reads = ["a1", "a2", "a3"].map((name) => read("a", name, LARGE));
  reads.push(read("b", "b1", LARGE), read("c", "small", SMALL));
  setImmediate(() => order.push("another request"));
  await Promise.all(reads);
  expect(order).toEqual(["small", "a1", "another request", "a2", "b1", "a3"]);
});

it("a large body beyond those that may wait is refused, which is noted; one whose client has left is not noted", async () => {
  const { read, limitsMet } = traffic(1, 1);
  const reads = ["a1", "a2", "a3"].map((name) => read("a", name, LARGE));
  expect(await Promise.all([...reads, read("b", "gone", LARGE)])).toEqual(["a1", "a2", null, null]);
  expect(limitsMet).toEqual(["limits.waiting_requests 192.0.2.1"]);
});

it("small bodies are parsed together, so that they share a commit", async () => {
  const { order, read } = traffic(1);
  const reads = Array.from({ length: 5 }, (_, index) => read("a", `a${index}`, LARGE));
  setImmediate(() => setImmediate(() => order.push("other")));
  await Promise.all(reads);
  expect(order).toEqual(["a0", "a1", "a2", "a3", "a4"]);
});

describe("room of a request", () => {
  const client = identifyClient("a", "192.0.2.1");

  /** A body as large as one credential may send at once. */
  function fill() {
    const { begin } = createTraffic(HTTP_LIMITS, { note: () => {} }, { monotonicMs: () => 0 });
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    const passage = begin(client, HTTP_LIMITS.inFlightBytes.credential, response);
    if ("status" in passage) throw new Error("There is no room");
    const isFull = () => "status" in begin(client, 1, new ServerResponse(new IncomingMessage(new Socket())));
    expect(isFull()).toBe(true);
    return { passage, isFull, leave: () => response.destroy().emit("close") };
  }

  it("is released once its answer is being sent, if that is small", () => {
    const { passage, isFull } = fill();
    expect(passage.answer(1)).toBeNull();
    expect(isFull()).toBe(false);
  });

  it("is released when its client disconnects", () => {
    const { isFull, leave } = fill();
    leave();
    expect(isFull()).toBe(false);
  });

  it("is not taken by a request whose client left before it began", () => {
    const { begin } = createTraffic(HTTP_LIMITS, { note: () => {} }, { monotonicMs: () => 0 });
    const left = new ServerResponse(new IncomingMessage(new Socket())).destroy();
    begin(client, HTTP_LIMITS.inFlightBytes.credential, left);
    expect(begin(client, 1, new ServerResponse(new IncomingMessage(new Socket())))).not.toHaveProperty("status");
  });

  it("is released when the work of a disconnected client fails, and not before", async () => {
    const { passage, isFull, leave } = fill();
    const failing = Promise.withResolvers<never>();
    const working = passage.work("org_1", () => failing.promise);
    leave();
    expect(isFull()).toBe(true);
    failing.reject(new Error("no"));
    await expect(working).rejects.toThrow("no");
    expect(isFull()).toBe(false);
  });
});
