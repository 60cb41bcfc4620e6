import { expect, test } from "vitest";

import type { Clock } from "../../../../src/platform/clock.ts";
import { feedWatchdog } from "../../../../src/platform/systemd/notify.ts";

/** The actions, oldest first, until the program stops in its third sleep. */
async function feed(watchdogMs: number | null): Promise<readonly string[]> {
  const done: string[] = [];
  const stopping = new AbortController();
  const clock: Clock = {
    wallMs: () => 0,
    monotonicMs: () => 0,
    async sleep(durationMs, signal) {
      done.push(`sleep ${durationMs} ms`);
      if (done.length === 6) stopping.abort();
      signal?.throwIfAborted();
    },
  };
  await feedWatchdog({ watchdog: () => void done.push("WATCHDOG=1"), watchdogMs }, clock, stopping.signal);
  return done;
}

test("feedWatchdog: watchdog set → notifies at once, then after each half of its time, until the stop", async () => {
  const signs = ["WATCHDOG=1", "sleep 15000 ms"];
  expect(await feed(30_000)).toEqual([...signs, ...signs, ...signs]);
});

test("feedWatchdog: no watchdog → no notification", async () => {
  expect(await feed(null)).toEqual([]);
});
