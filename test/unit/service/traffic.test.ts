import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";

import { expect, it } from "vitest";

import { HTTP_LIMITS } from "../../../src/service/http/limits.ts";
import { identifyClient } from "../../../src/service/http/parties.ts";
import { createTraffic } from "../../../src/service/http/traffic.ts";

const [SMALL, LARGE] = [4 * 1024, 4 * 1024 + 1];

/** Requests whose bodies are read, each taking so long. */
function traffic(bodyMs: number) {
  const order: string[] = [];
  let now_ms = 0;
  const { begin } = createTraffic(HTTP_LIMITS, { note: () => {} }, { monotonic_ms: () => now_ms });
  const read = (credential: string, name: string, bytes: number): Promise<unknown> => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    const passage = begin(identifyClient(credential, "192.0.2.1"), bytes, response);
    if ("status" in passage) throw new Error("There is no room");
    return passage.read(() => {
      order.push(name);
      now_ms += bodyMs;
    });
  };
  return { order, read };
}

it("large bodies are read one after the other, senders in turn, and whoever comes in between is looked at", async () => {
  const { order, read } = traffic(50);
  const reads = ["a1", "a2", "a3"].map((name) => read("a", name, LARGE));
  reads.push(read("b", "b1", LARGE), read("c", "small", SMALL));
  setImmediate(() => order.push("another request"));
  await Promise.all(reads);
  expect(order).toEqual(["small", "a1", "another request", "a2", "b1", "a3"]);
});

it("many that take little time are read together, so that they share a commit", async () => {
  const { order, read } = traffic(1);
  const reads = Array.from({ length: 5 }, (_, index) => read("a", `a${index}`, LARGE));
  setImmediate(() => setImmediate(() => order.push("other")));
  await Promise.all(reads);
  expect(order).toEqual(["a0", "a1", "a2", "a3", "a4"]);
});
