import { setImmediate } from "node:timers/promises";

import { describe, expect, it } from "vitest";

import { createFairQueue, type FairQueueLimits } from "../../../../../src/service/kernel/traffic/fair-queue.ts";

/** Jobs that end when the test says so, and the names of those that have begun. */
function scene(limits: FairQueueLimits) {
  const queue = createFairQueue(limits);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  return {
    begun,
    run: (whose: string, name: string) =>
      queue.run(whose, async () => {
        begun.push(name);
        await new Promise<void>((resolve) => {
          ends.push(resolve);
        });
        return name;
      }),
    async endOne() {
      ends.shift()?.();
      await setImmediate();
    },
  };
}

describe("createFairQueue", () => {
  it("runs one job at a time, round-robin over requesters, however many jobs one of them has", async () => {
    const { begun, run, endOne } = scene({ own: 3, all: 10 });
    const all = ["a1", "a2", "a3", "b1", "a4", "c1"].map((name) => run(name.slice(0, 1), name));
    for (let count = 1; count <= all.length; count += 1) {
      await setImmediate();
      expect(begun).toHaveLength(count);
      await endOne();
    }
    expect(begun).toEqual(["a1", "a2", "b1", "c1", "a3", "a4"]);
    expect(await Promise.all(all)).toEqual(["a1", "a2", "a3", "b1", "a4", "c1"]);
    const again = run("a", "a5");
    await endOne();
    expect(await again).toBe("a5");
  });

  it("refuses a job when too many wait, of one requester or of all, and has room again when one is done", async () => {
    const { begun, run, endOne } = scene({ own: 2, all: 3 });
    const kept = [run("a", "a1"), run("a", "a2"), run("a", "a3"), run("b", "b1")];
    expect(await run("a", "a4")).toBeNull();
    expect(await run("b", "b2")).toBeNull();
    await endOne();
    kept.push(run("b", "b2"));
    for (let count = 0; count < kept.length; count += 1) await endOne();
    expect(await Promise.all(kept)).toEqual(["a1", "a2", "a3", "b1", "b2"]);
    expect(begun).toEqual(["a1", "a2", "b1", "a3", "b2"]);
  });

  it("runs several at once, but no more of one requester than its own limit, so that others never wait for it", async () => {
    const { begun, run, endOne } = scene({ own: 9, all: 9, ownAtOnce: 2, allAtOnce: 3 });
    const all = ["a1", "a2", "a3", "b1", "b2", "c1"].map((name) => run(name.slice(0, 1), name));
    await setImmediate();
    expect(begun).toEqual(["a1", "a2", "b1"]);
    await endOne();
    expect(begun).toEqual(["a1", "a2", "b1", "a3"]);
    await endOne();
    expect(begun).toEqual(["a1", "a2", "b1", "a3", "b2"]);
    for (let count = 0; count < all.length; count += 1) await endOne();
    expect(await Promise.all(all)).toHaveLength(6);
  });

  it("a job that fails rejects its own promise, and the next one runs", async () => {
    const queue = createFairQueue({ own: 2, all: 2 });
    const failed = queue.run("a", () => Promise.reject(new Error("broken")));
    const next = queue.run("a", () => Promise.resolve(1));
    await expect(failed).rejects.toThrow("broken");
    expect(await next).toBe(1);
  });
});
