import { getEventListeners } from "node:events";
import { afterEach, expect, test, vi } from "vitest";

import { systemClock } from "../../../src/platform/clock.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("sleep: abort → rejects with the reason, leaves no timer that keeps the program running", async () => {
  vi.useFakeTimers();
  const stopping = new AbortController();
  const slept = systemClock.sleep(60_000, stopping.signal);
  expect(vi.getTimerCount()).toBe(1);
  stopping.abort("stopped");
  expect(vi.getTimerCount()).toBe(0);
  await expect(slept).rejects.toBe("stopped");
  await expect(systemClock.sleep(60_000, stopping.signal)).rejects.toBe("stopped");
  expect(vi.getTimerCount()).toBe(0);
});

test("sleep: ended → removes its listener from a long-lived signal", async () => {
  vi.useFakeTimers();
  const { signal } = new AbortController();
  const slept = systemClock.sleep(1000, signal);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1000);
  await slept;
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("sleep: longer than setTimeout allows → does not end at once", async () => {
  vi.useFakeTimers();
  const slept = vi.fn();
  void systemClock.sleep(1e12).then(slept);
  await vi.advanceTimersByTimeAsync(2 ** 31 - 2);
  expect(slept).not.toHaveBeenCalled();
});
