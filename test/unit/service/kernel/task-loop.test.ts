import { describe, expect, it } from "vitest";

import type { Clock } from "../../../../src/platform/clock.ts";
import type { Log } from "../../../../src/platform/log/log.ts";
import { StoreUnavailableError } from "../../../../src/service/kernel/store/unavailable.ts";
import { createTaskLoop } from "../../../../src/service/kernel/tasks/task-loop.ts";
import type { Task } from "../../../../src/service/kernel/tasks/task.ts";

const NUDGE_GAP_MS = 20;
const REST_MAXIMUM_MS = 5000;

/** A clock that stands still until it is told to go on, and knows who sleeps. */
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
    /** Ends the sleep that is slept now, once there is one. */
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
  return { entries, debug: note, info: note, warn: note, error: note };
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
  it("runs at the start, and then after each interval", async () => {
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

  it("a nudge between runs brings the next one at once; nudges during a run bring one more", async () => {
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

  it("a task that ignores nudges waits for the end of its interval", async () => {
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
    ["a short run leaves nudges be", 1, NUDGE_GAP_MS],
    ["one that took long is followed by its rest", 30, 300],
    ["of which there is a most", 60_000, REST_MAXIMUM_MS],
  ])("a task that rests, however often it is nudged: %s", async (_name, tookMs, restMs) => {
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

  it("a failure is told once, waited out longer each time, and its end is told too", async () => {
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
    // Halfway between a quarter of a second and a ceiling that doubles from half a second to ten seconds.
    expect(waits).toEqual([375, 625, 1125, 2125, 4125, 5125, 5125]);
    expect(world.log.entries).toEqual([
      'task_failed {"task":"chore","error":"the disk is full"}',
      'task_recovered {"task":"chore","failures":7}',
    ]);
  });

  it("after a run that went well the waits begin anew", async () => {
    const outcomes = [false, false, false, true, false, false];
    await using world = setUpDisposable(async () => {
      if (outcomes.shift() === false) throw new Error("broken");
    });
    world.loop.start();
    for (let wait = 0; wait < 7; wait += 1) await world.pass();
    const [first, second, third, gap, interval, ...again] = world.slept;
    expect([gap, interval]).toEqual([NUDGE_GAP_MS, 1000 - NUDGE_GAP_MS]);
    expect(third).toBeGreaterThan(second ?? 0);
    expect(again.slice(0, 2)).toEqual([first, second]);
  });

  it("one task that fails or hangs holds up no other", async () => {
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

  it("disposing aborts the run under way, waits for it, and keeps quiet about it", async () => {
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

  it("disposing while it sleeps, or before it started, ends at once", async () => {
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
