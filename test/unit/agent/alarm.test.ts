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
