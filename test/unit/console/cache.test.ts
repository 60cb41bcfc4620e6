import { describe, expect, it, onTestFinished } from "vitest";

import { forgetAll, invalidate, invalidateAll, known, reload, watch } from "../../../src/console/browser/data/cache.ts";
import { openPage, type Page } from "./page.ts";

const ROBOTS = "/v1/robots";

function look(page: Page, path = ROBOTS) {
  const away = watch(path, ["robots"], () => {});
  onTestFinished(away);
  return { away, requests: () => page.requests.filter((each) => each.path === path) };
}

const value = (path = ROBOTS) => known(path, ["robots"]).value;

describe("cache", () => {
  it("sends one request for several watchers, and another one after a change", async () => {
    const page = openPage();
    const { requests } = look(page);
    look(page);
    await requests()[0]?.answer(["one"]);
    expect(value()).toEqual(["one"]);
    await page.pass(60_000);
    expect(requests()).toHaveLength(1);
    invalidate(["fleets", "keys"]);
    await page.pass(0);
    expect(requests()).toHaveLength(1);
    invalidate(["robots"]);
    await page.pass(0);
    await requests()[1]?.answer(["two"]);
    expect(value()).toEqual(["two"]);
  });

  it("asks again after a change during a request, whose answer may be too old", async () => {
    const page = openPage();
    const { requests } = look(page);
    invalidate(["robots"]);
    invalidate(["robots"]);
    expect(requests()).toHaveLength(1);
    await requests()[0]?.answer(["before"]);
    await page.pass(1000);
    expect(requests()).toHaveLength(2);
    await requests()[1]?.answer(["after"]);
    expect(value()).toEqual(["after"]);
    await page.pass(60_000);
    expect(requests()).toHaveLength(2);
  });

  it("asks at most once a second, and less often if answers are slow", async () => {
    const page = openPage();
    const { requests } = look(page);
    const change = async (ms: number) => {
      invalidate(["robots"]);
      await page.pass(ms);
      return requests().length;
    };
    await requests()[0]?.answer([]);
    expect([await change(999), await change(1)]).toEqual([1, 2]);
    await page.pass(600);
    await requests()[1]?.answer([]);
    expect([await change(2999), await change(1)]).toEqual([2, 3]);
  });

  it("keeps the last answer after a failure, and asks again after ten seconds", async () => {
    const page = openPage();
    const { requests } = look(page);
    await requests()[0]?.answer(["one"]);
    invalidateAll();
    await requests()[1]?.fail();
    expect(known(ROBOTS, ["robots"])).toMatchObject({ value: ["one"], problem: { kind: "unreachable" } });
    await page.pass(9999);
    expect(requests()).toHaveLength(2);
    await page.pass(1);
    await requests()[2]?.answer(["two"]);
    expect(known(ROBOTS, ["robots"])).toMatchObject({ value: ["two"], problem: null });
  });

  it("does not ask again after a 403 until the data changes", async () => {
    const page = openPage();
    const { requests } = look(page);
    await requests()[0]?.answer({ detail: "Forbidden" }, 403);
    await page.pass(60_000);
    expect(requests()).toHaveLength(1);
  });

  it("aborts the request when the last watcher leaves, and asks again for the next one", async () => {
    const page = openPage();
    const { away, requests } = look(page);
    away();
    expect(requests()[0]?.signal.aborted).toBe(true);
    invalidate(["robots"]);
    await page.pass(60_000);
    expect([requests().length, page.timers()]).toEqual([1, 0]);
    look(page);
    await requests()[1]?.answer(["one"]);
    expect(value()).toEqual(["one"]);
  });

  it("cancels a scheduled request when the last watcher leaves", async () => {
    const page = openPage();
    const { away, requests } = look(page);
    await requests()[0]?.answer([]);
    invalidate(["robots"]);
    expect(page.timers()).toBe(1);
    away();
    expect(page.timers()).toBe(0);
  });

  it("keeps the last 64 addresses", async () => {
    const page = openPage();
    const pathOf = (robot: number) => `${ROBOTS}/arm-${robot}`;
    for (let robot = 0; robot <= 64; robot += 1) {
      const { away, requests } = look(page, pathOf(robot));
      await requests()[0]?.answer(robot);
      away();
    }
    expect([value(pathOf(64)), value(pathOf(1)), value(pathOf(0))]).toEqual([64, 1, undefined]);
  });

  it("asks nothing after forgetAll", async () => {
    const page = openPage();
    const { requests } = look(page);
    await requests()[0]?.answer([]);
    invalidate(["robots"]);
    forgetAll();
    expect(page.timers()).toBe(0);
  });

  it("asks nothing while the page is hidden", async () => {
    const page = openPage();
    const { requests } = look(page);
    await requests()[0]?.answer([]);
    page.see("hidden");
    invalidate(["robots"]);
    await page.pass(60_000);
    expect(requests()).toHaveLength(1);
    page.see("visible");
    invalidateAll();
    expect(requests()).toHaveLength(2);
  });

  it("reload asks at once: it aborts a request that hangs and ignores its answer", async () => {
    const page = openPage();
    const { requests } = look(page);
    reload(ROBOTS);
    expect(requests().map(({ signal }) => signal.aborted)).toEqual([true, false]);
    await requests()[1]?.answer(["new"]);
    await requests()[0]?.answer(["old"]);
    expect(value()).toEqual(["new"]);
  });
});
