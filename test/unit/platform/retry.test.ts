import { expect, test } from "vitest";

import type { Random } from "../../../src/platform/random.ts";
import { createBackoff } from "../../../src/platform/retry.ts";

const HOUR_MS = 3_600_000;

/** The agent's settings. */
const AGENT = { firstMs: 1_000, capMs: 300_000 };

const always = (unit: number): Random => ({ unit: () => unit, bytes: (count) => new Uint8Array(count) });

/** mulberry32: the same numbers in every run. */
function seeded(seed: number): Random {
  let state = seed;
  return {
    unit() {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
    bytes: (count) => new Uint8Array(count),
  };
}

test.each([
  ["the longest", 1, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000]],
  ["the middle", 0.5, [750, 1_250, 2_250, 4_250, 8_250, 16_250, 32_250, 64_250, 128_250, 150_250, 150_250]],
  ["the shortest", 0, [500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500]],
])("createBackoff: %s draws → delays", (_name, unit, delaysMs) => {
  const backoff = createBackoff({ ...AGENT, random: always(unit) });
  expect(delaysMs.map(() => backoff.nextMs())).toEqual(delaysMs);
  expect(backoff.attempts).toBe(delaysMs.length);
});

test("createBackoff: reset → starts over", () => {
  const backoff = createBackoff({ ...AGENT, random: always(1) });
  expect([backoff.nextMs(), backoff.nextMs(), backoff.nextMs()]).toEqual([1_000, 2_000, 4_000]);
  backoff.reset();
  expect(backoff.attempts).toBe(0);
  expect(backoff.nextMs()).toBe(1_000);
});

test.each([
  ["nothing", undefined, 1_000],
  ["null", null, 1_000],
  ["zero", 0, 1_000],
  ["a negative number", -5_000, 1_000],
  ["not a number", Number.NaN, 1_000],
  ["less than the delay drawn", 300, 1_300],
  ["ten seconds", 10_000, 11_000],
  ["a fraction", 10_000.2, 11_001],
  ["nearly an hour", HOUR_MS - 400, HOUR_MS],
  ["an hour", HOUR_MS, HOUR_MS],
  ["a year", 31_536_000_000, HOUR_MS],
  ["for ever", Infinity, HOUR_MS],
])("scenario 6: Retry-After of %s", (_name, retryAfterMs, delayMs) => {
  expect(createBackoff({ ...AGENT, random: always(1) }).nextMs(retryAfterMs)).toBe(delayMs);
});

test("scenario 6: fleet with the same Retry-After date → retries are spread, none is early", () => {
  const delaysMs = Array.from({ length: 500 }, (_, seed) => {
    const backoff = createBackoff({ ...AGENT, random: seeded(seed) });
    for (let attempt = 0; attempt < 9; attempt += 1) backoff.nextMs();
    return backoff.nextMs(600_000);
  });
  expect(Math.min(...delaysMs)).toBeGreaterThan(600_000);
  expect(busiestSecond(delaysMs)).toBeLessThan(12);
});

test("scenario 5: 500 agents that fail together for 30 minutes → retries are spread over the cap", () => {
  const outageMs = 1_800_000;
  const returnsMs = Array.from({ length: 500 }, (_, seed) => {
    const backoff = createBackoff({ ...AGENT, random: seeded(seed) });
    let nowMs = 0;
    while (nowMs < outageMs) nowMs += backoff.nextMs();
    return nowMs - outageMs;
  });
  // 500 in 300 s are 1.7 per second on average; without jitter all would retry at once.
  expect(busiestSecond(returnsMs)).toBeLessThan(15);
  expect(Math.max(...returnsMs)).toBeLessThan(300_000);
  const tenths = Array.from({ length: 10 }, (_, tenth) => {
    return returnsMs.filter((timeMs) => Math.floor(timeMs / 30_000) === tenth).length;
  });
  expect(Math.min(...tenths)).toBeGreaterThan(0);
});

function busiestSecond(timesMs: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const timeMs of timesMs) {
    const second = Math.floor(timeMs / 1_000);
    counts.set(second, (counts.get(second) ?? 0) + 1);
  }
  return Math.max(...counts.values());
}
