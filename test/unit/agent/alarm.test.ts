import { expect, test } from "vitest";

import { createAlarm } from "../../../src/agent/alarm.ts";
import { systemClock } from "../../../src/platform/clock.ts";

const never = new AbortController().signal;

test("alarm: several rings before a wait → end it once", async () => {
  const alarm = createAlarm(systemClock);
  alarm.ring();
  alarm.ring();
  expect(await alarm.wait(Number.POSITIVE_INFINITY, never)).toBe("rung");
  expect(await alarm.wait(systemClock.monotonicMs() + 5, never)).toBe("due");
});

test("alarm: ring during a wait → ends it", async () => {
  const alarm = createAlarm(systemClock);
  const woken = alarm.wait(Number.POSITIVE_INFINITY, never);
  alarm.ring();
  expect(await woken).toBe("rung");
});

test("alarm: abort during a wait → rejects with its reason", async () => {
  const stopping = new AbortController();
  const woken = createAlarm(systemClock).wait(Number.POSITIVE_INFINITY, stopping.signal);
  stopping.abort(new Error("stop"));
  await expect(woken).rejects.toThrow("stop");
});

test("alarm: time in the past → due at once", async () => {
  expect(await createAlarm(systemClock).wait(0, never)).toBe("due");
});

test("alarm: timers that fire early → not due before its time", async () => {
  let nowMs = 0;
  const clock = {
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    // Fires a little early each time, like timers with a resolution of milliseconds.
    async sleep(durationMs: number) {
      nowMs += Math.max(0.25, durationMs - 0.5);
    },
  };
  expect(await createAlarm(clock).wait(100, never)).toBe("due");
  expect(nowMs).toBeGreaterThanOrEqual(100);
});
