import { setImmediate } from "node:timers/promises";

import { describe, expect, it } from "vitest";

import type { TurnLimits } from "../../../../../src/service/kernel/traffic/turns.ts";
import { createTurns } from "../../../../../src/service/kernel/traffic/turns.ts";

/** Work that is done when somebody says so, and what has begun so far. */
function scene(limits: TurnLimits) {
  const turns = createTurns(limits);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  return {
    begun,
    take: (whose: string, name: string) =>
      turns.take(whose, async () => {
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

describe("turns", () => {
  it("one piece of work at a time, and askers in turn, however much one of them asks for", async () => {
    const { begun, take, endOne } = scene({ own: 3, all: 10 });
    const all = ["a1", "a2", "a3", "b1", "a4", "c1"].map((name) => take(name.slice(0, 1), name));
    for (let count = 1; count <= all.length; count += 1) {
      await setImmediate();
      expect(begun).toHaveLength(count);
      await endOne();
    }
    expect(begun).toEqual(["a1", "a2", "b1", "c1", "a3", "a4"]);
    expect(await Promise.all(all)).toEqual(["a1", "a2", "a3", "b1", "a4", "c1"]);
    const again = take("a", "a5");
    await endOne();
    expect(await again).toBe("a5");
  });

  it("nothing is done where too much waits, of one asker or of all, and there is room again when some is done", async () => {
    const { begun, take, endOne } = scene({ own: 2, all: 3 });
    const kept = [take("a", "a1"), take("a", "a2"), take("a", "a3"), take("b", "b1")];
    expect(await take("a", "a4")).toBeNull();
    expect(await take("b", "b2")).toBeNull();
    await endOne();
    kept.push(take("b", "b2"));
    for (let count = 0; count < kept.length; count += 1) await endOne();
    expect(await Promise.all(kept)).toEqual(["a1", "a2", "a3", "b1", "b2"]);
    expect(begun).toEqual(["a1", "a2", "b1", "a3", "b2"]);
  });

  it("several at once, but of one asker no more than its own, so that others never wait for it", async () => {
    const { begun, take, endOne } = scene({ own: 9, all: 9, ownAtOnce: 2, allAtOnce: 3 });
    const all = ["a1", "a2", "a3", "b1", "b2", "c1"].map((name) => take(name.slice(0, 1), name));
    await setImmediate();
    expect(begun).toEqual(["a1", "a2", "b1"]);
    await endOne();
    expect(begun).toEqual(["a1", "a2", "b1", "a3"]);
    await endOne();
    expect(begun).toEqual(["a1", "a2", "b1", "a3", "b2"]);
    for (let count = 0; count < all.length; count += 1) await endOne();
    expect(await Promise.all(all)).toHaveLength(6);
  });

  it("work that fails fails for who asked, and the next has its turn", async () => {
    const turns = createTurns({ own: 2, all: 2 });
    const failed = turns.take("a", () => Promise.reject(new Error("broken")));
    const next = turns.take("a", () => Promise.resolve(1));
    await expect(failed).rejects.toThrow("broken");
    expect(await next).toBe(1);
  });
});
