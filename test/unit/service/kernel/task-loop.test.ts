import { describe, expect, it } from "vitest";

import type { Clock } from "../../../../src/platform/clock.ts";
import type { Log } from "../../../../src/platform/log/log.ts";
import { StoreUnavailableError } from "../../../../src/service/kernel/store/unavailable.ts";
import { createTaskLoop, type Task } from "../../../../src/service/kernel/tasks/task-loop.ts";

const NUDGE_GAP_MS = 20;
const REST_MAXIMUM_MS = 5000;

/** A clock that the test advances, and that records sleepers. */
function createStillClock() {
  const sleepers: { readonly wake: () => void; readonly duration_ms: number }[] = [];
  const slept: number[] = [];
  let nowMs = 0;
  const clock: Clock = {
    wallMs: () => 0,
    monotonicMs: () => nowMs,
    sleep: (durationMs, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted === true) {
          reject(signal.reason);
          return;
        }
        slept.push(durationMs);
        const sleeper = { wake: resolve, duration_ms: durationMs };
        sleepers.push(sleeper);
        signal?.addEventListener("abort", () => {
          sleepers.splice(sleepers.indexOf(sleeper), 1);
          reject(signal.reason);
        });
      }),
  };
  return {
    clock,
    slept,
    advance(durationMs: number) {
      nowMs += durationMs;
    },
    /** Ends the current sleep, or the next one. */
    async pass() {
      await expect.poll(() => sleepers.length).toBe(1);
      sleepers.shift()?.wake();
    },
    asleep: () => expect.poll(() => sleepers.map(({ duration_ms: durationMs }) => durationMs)),
  };
}

function createLogbook(): Log & { readonly entries: string[] } {
  const entries: string[] = [];
  const note = (event: string, fields?: Readonly<Record<string, unknown>>) =>
    void entries.push(`${event} ${JSON.stringify(fields)}`);
  return { entries, debug: note, info: note, notice: note, warn: note, error: note };
}

const random = { unit: () => 0.5, bytes: (count: number) => new Uint8Array(count) };

function setUp(run: Task["run"], parts: Partial<Task> = {}) {
  const still = createStillClock();
  const log = createLogbook();
  const loop = createTaskLoop([{ name: "chore", intervalMs: 1000, run, ...parts }], {
    clock: still.clock,
    random,
    log,
  });
  return { ...still, log, loop };
}

describe("createTaskLoop", () => {
  it("runs at the start and after each interval", async () => {
    let runs = 0;
    await using world = setUpDisposable(async () => void (runs += 1));
    world.loop.start();
    for (let round = 1; round <= 3; round += 1) {
      await expect.poll(() => runs).toBe(round);
      await world.asleep().toEqual([NUDGE_GAP_MS]);
      await world.pass();
      await world.asleep().toEqual([1000 - NUDGE_GAP_MS]);
      await world.pass();
    }
  });

  it("nudge between runs → runs at once; nudges during a run → one more run", async () => {
    const runs: PromiseWithResolvers<void>[] = [];
    await using world = setUpDisposable(() => {
      const running = Promise.withResolvers<void>();
      runs.push(running);
      return running.promise;
    });
    world.loop.start();
    await expect.poll(() => runs.length).toBe(1);
    for (let count = 0; count < 5; count += 1) world.loop.nudge();
    runs[0]?.resolve();
    await world.pass();
    await expect.poll(() => runs.length).toBe(2);
    runs[1]?.resolve();
    await world.pass();
    await world.asleep().toEqual([1000 - NUDGE_GAP_MS]);
    expect(runs).toHaveLength(2);
    world.loop.nudge();
    await expect.poll(() => runs.length).toBe(3);
    runs[2]?.resolve();
  });

  it("task that ignores nudges → waits for its interval", async () => {
    let runs = 0;
    await using world = setUpDisposable(async () => void (runs += 1), { ignoresNudges: true });
    world.loop.start();
    await world.asleep().toEqual([NUDGE_GAP_MS]);
    world.loop.nudge();
    await world.pass();
    await world.asleep().toEqual([1000 - NUDGE_GAP_MS]);
    world.loop.nudge();
    await world.asleep().toEqual([1000 - NUDGE_GAP_MS]);
    expect(runs).toBe(1);
  });

  it.each([
    ["short run → the minimum gap", 1, NUDGE_GAP_MS],
    ["long run → in proportion to it", 30, 300],
    ["very long run → the maximum", 60_000, REST_MAXIMUM_MS],
  ])("minimum pause between runs, despite nudges: %s", async (_name, tookMs, restMs) => {
    let runs = 0;
    const run = async () => {
      runs += 1;
      world.advance(tookMs);
    };
    await using world = setUpDisposable(run, { restRatio: 10 });
    world.loop.start();
    await expect.poll(() => runs).toBe(1);
    world.loop.nudge();
    await world.asleep().toEqual([restMs]);
    await world.pass();
    await expect.poll(() => runs).toBe(2);
  });

  it("failure → logged once, with growing waits, its end is logged", async () => {
    let failures = 7;
    await using world = setUpDisposable(async () => {
      if (failures === 0) return;
      failures -= 1;
      throw new StoreUnavailableError("the disk is full");
    });
    world.loop.start();
    for (let round = 0; round < 7; round += 1) {
      world.loop.nudge();
      await world.pass();
    }
    await world.asleep().toEqual([NUDGE_GAP_MS]);
    const waits = world.slept.slice(0, 7);
    // Half of the jitter range: between 250 ms and a ceiling that doubles from 500 ms to ten seconds.
    expect(waits).toEqual([375, 625, 1125, 2125, 4125, 5125, 5125]);
    expect(world.log.entries).toEqual([
      'task_failed {"task":"chore","error":"the disk is full"}',
      'task_recovered {"task":"chore","failures":7}',
    ]);
  });

  it("one task fails or hangs → others run", async () => {
    const still = createStillClock();
    let runs = 0;
    const tasks: Task[] = [
      {
        name: "hangs",
        intervalMs: 10,
        run: (signal) => new Promise((resolve) => void signal.addEventListener("abort", () => resolve())),
      },
      { name: "works", intervalMs: 10, run: async () => void (runs += 1) },
    ];
    await using loop = createTaskLoop(tasks, { clock: still.clock, random, log: createLogbook() });
    loop.start();
    for (let round = 1; round <= 3; round += 1) {
      await expect.poll(() => runs).toBe(round);
      await still.pass();
      await expect.poll(() => still.slept.length).toBeGreaterThan(round);
      loop.nudge();
    }
  });

  it("disposed during a run → aborts it, waits for it, logs nothing", async () => {
    let isEnded = false;
    const world = setUp(
      (signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            isEnded = true;
            reject(new Error("torn down"));
          });
        }),
    );
    world.loop.start();
    await world.loop[Symbol.asyncDispose]();
    expect([isEnded, world.log.entries]).toEqual([true, []]);
  });

  it("disposed during a sleep or before the start → ends at once", async () => {
    const world = setUp(async () => {});
    world.loop.start();
    await world.asleep().toEqual([NUDGE_GAP_MS]);
    await world.loop[Symbol.asyncDispose]();
    await setUp(async () => {}).loop[Symbol.asyncDispose]();
  });
});

function setUpDisposable(run: Task["run"], parts: Partial<Task> = {}) {
  const world = setUp(run, parts);
  return { ...world, [Symbol.asyncDispose]: () => world.loop[Symbol.asyncDispose]() };
}
