import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";

import { describe, expect, it } from "vitest";

import { isAnswer } from "../../../../../src/service/kernel/http/answers.ts";
import { HTTP_LIMITS, type HttpLimits } from "../../../../../src/service/kernel/traffic/limits.ts";
import { createTraffic } from "../../../../../src/service/kernel/traffic/traffic.ts";

const newResponse = () => new ServerResponse(new IncomingMessage(new Socket()));

/** Traffic with these limits, and the limits that were met. */
function scene(limits: Partial<HttpLimits> = {}) {
  const met: string[] = [];
  const { begin } = createTraffic({ ...HTTP_LIMITS, ...limits }, (limit) => void met.push(limit));
  const request = (requester: string, bodyBytes = 0, isChange = false, response = newResponse()) => {
    const inFlight = begin(requester, isChange, bodyBytes, response);
    return isAnswer(inFlight) ? null : { ...inFlight, leave: () => response.destroy().emit("close") };
  };
  return { met, request };
}

describe("work", () => {
  it("beyond what may wait of one requester is refused, others are not", async () => {
    const { request, met } = scene({
      requests: { ...HTTP_LIMITS.requests, reads: { ...HTTP_LIMITS.requests.reads, ownAtOnce: 1, own: 1 } },
    });
    const work = async (requester: string) => request(requester)?.work(async () => "done");
    const answers = await Promise.all(["a", "a", "a", "b"].map(work));
    expect(answers).toEqual(["done", "done", expect.objectContaining({ status: 503 }), "done"]);
    expect(met).toEqual(["limits.waiting_requests"]);
  });
});

describe("bytes in flight", () => {
  const limits = { inFlightBytes: { own: 10, all: 15 } };

  it("are limited of one requester, and of all together", () => {
    const { request, met } = scene(limits);
    expect([request("a", 6), request("a", 5), request("b", 9), request("c", 1), request("c", 0)]).toEqual([
      expect.anything(),
      null,
      expect.anything(),
      null,
      expect.anything(),
    ]);
    expect(met).toEqual(["limits.in_flight_mib.organization", "limits.in_flight_mib.all"]);
  });

  it("above a limit have room when nothing else is in flight", () => {
    const { request } = scene(limits);
    expect([request("a", 100), request("b", 1)]).toEqual([expect.anything(), null]);
  });

  it.each([
    ["its answer is small", (full: { answer(bytes: number, isChange: boolean): unknown }) => full.answer(1, false)],
    ["its client leaves", (full: { leave(): unknown }) => full.leave()],
  ])("are given back when %s", (_when, end) => {
    const { request } = scene(limits);
    const full = request("a", 10);
    if (full === null) throw new Error("There is no room");
    expect(request("a", 1)).toBeNull();
    end(full);
    expect(request("a", 10)).not.toBeNull();
  });

  it("are not counted of a request whose client left before it began", () => {
    const { request } = scene(limits);
    request("a", 10, false, newResponse().destroy());
    expect(request("a", 10)).not.toBeNull();
  });

  it("are given back when the work for a client that left ends, and not before", async () => {
    const { request } = scene(limits);
    const failing = Promise.withResolvers<never>();
    const full = request("a", 10);
    const working = full?.work(() => failing.promise);
    full?.leave();
    expect(request("a", 1)).toBeNull();
    failing.reject(new Error("no"));
    await expect(working).rejects.toThrow("no");
    expect(request("a", 10)).not.toBeNull();
  });

  it("of large answers count until the client has them; the answer to a change is sent without room", () => {
    const bytes = 20 * 1024;
    const { request } = scene({ inFlightBytes: { own: bytes, all: 10 * bytes } });
    const answer = (isChange: boolean) => {
      const one = request("a", 0, isChange);
      return { refusal: one?.answer(bytes)?.status ?? null, leave: one?.leave };
    };
    const first = answer(false);
    expect([first.refusal, answer(false).refusal, answer(true).refusal]).toEqual([null, 429, null]);
  });
});
