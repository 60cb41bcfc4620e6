import { expect, test } from "vitest";

import { createRateCap } from "../../../src/agent/rate-cap.ts";

test("rate cap: three at once, then one every twenty seconds", () => {
  const cap = createRateCap();
  const sent_ms: number[] = [];
  for (let now_ms = 0; now_ms <= 100_000; now_ms += 100) {
    if (now_ms < cap.until_ms()) continue;
    cap.take(now_ms);
    sent_ms.push(now_ms);
  }
  expect(sent_ms).toEqual([0, 100, 200, 20_000, 40_000, 60_000, 80_000, 100_000]);
});

test("rate cap: a quiet minute fills it again, and no more than that", () => {
  const cap = createRateCap();
  for (const now_ms of [0, 0, 0]) cap.take(now_ms);
  expect(cap.until_ms()).toBe(20_000);
  for (const now_ms of [200_000, 200_000, 200_000]) {
    expect(cap.until_ms()).toBeLessThanOrEqual(now_ms);
    cap.take(now_ms);
  }
  expect(cap.until_ms()).toBe(220_000);
});
