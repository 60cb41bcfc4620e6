import { expect, test } from "vitest";

import { createRateCap } from "../../../../src/agent/registration/rate-cap.ts";

/** Times, within 100 s, of the admitted attempts. An attempt follows every 100 ms, each with a digest computed from its number. */
function sentWithin100Seconds(digestOf: (attempt: number) => string): readonly number[] {
  const cap = createRateCap();
  const sentMs: number[] = [];
  for (let nowMs = 0; nowMs <= 100_000; nowMs += 100) {
    const digest = digestOf(nowMs / 100);
    if (nowMs < cap.untilMs(digest)) continue;
    cap.take(digest, nowMs);
    sentMs.push(nowMs);
  }
  return sentMs;
}

test("rate cap: flapping files → three at once, then one every twenty seconds", () => {
  const sentMs = sentWithin100Seconds((attempt) => `digest ${attempt}`);
  expect(sentMs).toEqual([0, 100, 200, 20_000, 40_000, 60_000, 80_000, 100_000]);
});

test("rate cap: other corrections → at once, but bounded", () => {
  const sentMs = sentWithin100Seconds(() => "digest");
  expect(sentMs.slice(0, 31)).toEqual([...Array.from({ length: 30 }, (_, index) => index * 100), 20_000]);
  expect(sentMs).toHaveLength(30 + 5);
});

test("rate cap: correction of the last sent digest after flapping files → not delayed", () => {
  const cap = createRateCap();
  for (const digest of ["a", "b", "c"]) cap.take(digest, 0);
  expect(cap.untilMs("c")).toBeLessThanOrEqual(0);
  expect(cap.untilMs("d")).toBe(20_000);
});

test("rate cap: corrections of one digest → do not delay the next digest", () => {
  const cap = createRateCap();
  for (let count = 0; count < 4; count += 1) cap.take("a", 0);
  expect(cap.untilMs("b")).toBeLessThanOrEqual(0);
});

test("rate cap: quiet minute → refilled to the maximum", () => {
  const cap = createRateCap();
  for (const digest of ["a", "b", "c"]) cap.take(digest, 0);
  expect(cap.untilMs("d")).toBe(20_000);
  for (const digest of ["d", "e", "f"]) {
    expect(cap.untilMs(digest)).toBeLessThanOrEqual(200_000);
    cap.take(digest, 200_000);
  }
  expect(cap.untilMs("g")).toBe(220_000);
});
