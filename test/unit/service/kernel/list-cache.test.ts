import { describe, expect, it } from "vitest";

import { createListCache, KEPT_LISTS } from "../../../../src/service/kernel/lists/list-cache.ts";

/** A store whose version the test sets, and a cache that counts reads. */
function scene() {
  const state = { version: "1", reads: 0, nowMs: 0 };
  const cache = createListCache({ version: () => Promise.resolve(state.version) }, { wallMs: () => state.nowMs });
  const list = async (organizationId: string, json: string, validUntilMs?: number) => {
    const read = () => {
      state.reads += 1;
      return Promise.resolve({ status: 200, json });
    };
    const answer = await cache.answer(
      organizationId,
      read,
      validUntilMs === undefined ? undefined : () => validUntilMs,
    );
    return "bytes" in answer ? Buffer.from(answer.bytes).toString() : "no bytes";
  };
  return { state, cache, list };
}

describe("createListCache", () => {
  it("same version → read once; another version → read again", async () => {
    const { state, list } = scene();
    expect([await list("org_1", "[1]"), await list("org_1", "[2]"), state.reads]).toEqual(["[1]", "[1]", 1]);
    state.version = "2";
    expect([await list("org_1", "[3]"), state.reads]).toEqual(["[3]", 2]);
  });

  it("several organizations → each its own list", async () => {
    const { list } = scene();
    expect([await list("org_1", "[1]"), await list("org_2", "[2]"), await list("org_1", "[3]")]).toEqual([
      "[1]",
      "[2]",
      "[1]",
    ]);
  });

  it("list with an expiry → read again after it, once for all requests", async () => {
    const { state, list } = scene();
    expect(await list("org_1", "[1]", 1000)).toBe("[1]");
    state.nowMs = 1000;
    expect(await list("org_1", "[2]", 2000)).toBe("[1]");
    state.nowMs = 1001;
    expect(await Promise.all([list("org_1", "[3]", 2000), list("org_1", "[4]", 2000)])).toEqual(["[3]", "[3]"]);
    expect(state.reads).toBe(2);
  });

  it("version changed during the read → not kept for the new version", async () => {
    const { state, cache, list } = scene();
    const { promise, resolve } = Promise.withResolvers<{ status: number; json: string }>();
    const slow = cache.answer("org_1", () => promise);
    state.version = "2";
    await list("org_2", "[]");
    resolve({ status: 200, json: "[old]" });
    await slow;
    expect(await list("org_1", "[new]")).toBe("[new]");
  });

  it("requests during a read → share it; another version → another read", async () => {
    const { state, cache } = scene();
    const { promise, resolve } = Promise.withResolvers<{ status: number; json: string }>();
    let reads = 0;
    const read = () => {
      reads += 1;
      return promise;
    };
    const together = [cache.answer("org_1", read), cache.answer("org_1", read), cache.answer("org_2", read)];
    await Promise.resolve();
    state.version = "2";
    const later = cache.answer("org_1", read);
    resolve({ status: 200, json: "[]" });
    await Promise.all([...together, later]);
    expect(reads).toBe(3);
  });

  it("read fails → all waiting requests fail, the next one reads again", async () => {
    const { cache, list } = scene();
    const failing = () => Promise.reject(new Error("no"));
    const outcomes = await Promise.allSettled([cache.answer("org_1", failing), cache.answer("org_1", failing)]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await list("org_1", "[1]")).toBe("[1]");
  });

  it("many lists → at most KEPT_LISTS are kept", async () => {
    const { state, list } = scene();
    const names = Array.from({ length: KEPT_LISTS + 1 }, (_, index) => `org_${index}`);
    for (const name of names.slice(0, -1)) await list(name, "[1]");
    for (const name of names.slice(0, -1)) expect(await list(name, "[2]")).toBe("[1]");
    await list(names.at(-1) ?? "", "[1]");
    expect(await list("org_0", "[2]")).toBe("[2]");
    expect(state.reads).toBe(KEPT_LISTS + 2);
  });

  it("streamed list → not shared, because it can be consumed only once", async () => {
    const { cache } = scene();
    const read = async () => ({ status: 200, parts: (async function* () {})() });
    const [first, second] = await Promise.all([cache.answer("org_1", read), cache.answer("org_1", read)]);
    expect(first).not.toBe(second);
  });
});
