import { getEventListeners } from "node:events";

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { type Limits, startLimits } from "../../../../src/client/transport/limits.ts";
import { systemClock } from "../../../../src/platform/clock.ts";

const TIMEOUTS = { connectMs: 10_000, headersMs: 15_000, totalMs: 30_000 };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test.each<[string, (limits: Limits) => void, number, string]>([
  ["no connection within 10 s", () => {}, 10_000, "CONNECT_TIMEOUT"],
  ["no answer within 15 s", (limits) => limits.connected(), 15_000, "HEADERS_TIMEOUT"],
  [
    "no whole answer within 30 s",
    (limits) => {
      limits.connected();
      limits.answered();
    },
    30_000,
    "TOTAL_TIMEOUT",
  ],
])("startLimits: %s → exactly at its limit", async (message, reach, limitMs, code) => {
  using limits = startLimits(TIMEOUTS, systemClock, new AbortController().signal);
  reach(limits);
  await vi.advanceTimersByTimeAsync(limitMs - 1);
  expect(limits.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(limits.signal.reason).toMatchObject({ reason: "timeout", code, message });
});

test("startLimits: phases within their limits → no abort", async () => {
  using limits = startLimits(TIMEOUTS, systemClock, new AbortController().signal);
  await vi.advanceTimersByTimeAsync(9000);
  limits.connected();
  await vi.advanceTimersByTimeAsync(14_000);
  limits.answered();
  await vi.advanceTimersByTimeAsync(6999);
  expect(limits.signal.aborted).toBe(false);
});

test("startLimits: finished exchange → no timer and no listener remains", () => {
  const { signal } = new AbortController();
  {
    using limits = startLimits(TIMEOUTS, systemClock, signal);
    limits.connected();
    expect([vi.getTimerCount(), getEventListeners(signal, "abort").length]).toEqual([2, 1]);
  }
  expect([vi.getTimerCount(), getEventListeners(signal, "abort").length]).toEqual([0, 0]);
});

test("startLimits: caller aborts, before or during the exchange → ends at once", () => {
  const stopping = new AbortController();
  using limits = startLimits(TIMEOUTS, systemClock, stopping.signal);
  stopping.abort();
  using late = startLimits(TIMEOUTS, systemClock, stopping.signal);
  for (const { signal } of [limits, late]) expect(signal.reason).toMatchObject({ reason: "aborted", code: "ABORTED" });
});
