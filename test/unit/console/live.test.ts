import { beforeEach, expect, it, onTestFinished } from "vitest";

import { liveness, startLive } from "../../../src/console/browser/data/live.ts";
import { watch } from "../../../src/console/browser/data/query.ts";
import { request } from "../../../src/console/browser/data/request.ts";
import { openPage } from "./page.ts";

beforeEach(() => {
  liveness.set("connecting");
});

/** A page that is up to date, and what it asks. */
async function scene() {
  const page = openPage();
  const end = startLive();
  onTestFinished(end);
  const questions = () => page.requests.filter(({ path }) => path === "/console/versions");
  await questions()[0]?.answer({ robots: "a", keys: "a" });
  const ask = (signal: AbortSignal) => request("GET", "/v1/robots", { signal });
  onTestFinished(watch({ key: "/v1/robots", ask, topics: ["robots"] }, () => {}));
  const lists = () => page.requests.filter(({ path }) => path === "/v1/robots");
  await lists()[0]?.answer([]);
  return { page, end, questions, lists, last: () => questions().at(-1) };
}

it("asks every two seconds, and fetches what changed", async () => {
  const { page, questions, lists, last } = await scene();
  for (const [robots, keys, count] of [
    ["a", "a", 1],
    ["a", "b", 1],
    ["b", "b", 2],
    ["b", "b", 2],
  ] as const) {
    await page.pass(2000);
    await last()?.answer({ robots, keys });
    await lists().at(-1)?.answer([]);
    expect(lists()).toHaveLength(count);
  }
  expect([liveness.get(), questions().length, page.timers()]).toEqual(["live", 5, 1]);
});

it("2.8 seconds without an answer → `waiting`; the next answer → live, with what changed meanwhile", async () => {
  const { page, questions, lists, last } = await scene();
  await page.pass(4799);
  expect([liveness.get(), questions().length]).toEqual(["live", 2]);
  await page.pass(1);
  expect(liveness.get()).toBe("waiting");
  await page.pass(1500);
  expect(questions()).toHaveLength(3);
  await last()?.answer({ detail: "The service is stopping" }, 503);
  expect(liveness.get()).toBe("waiting");
  await page.pass(1500);
  await last()?.answer({ robots: "b", keys: "a" });
  expect([liveness.get(), lists().length]).toEqual(["live", 2]);
});

it("the service answers after an outage → what failed is asked for at once", async () => {
  const { page, lists, last } = await scene();
  await page.pass(2000);
  await last()?.answer({ robots: "b", keys: "a" });
  await lists().at(-1)?.fail();
  await page.pass(2000);
  await last()?.fail();
  expect([liveness.get(), lists().length]).toEqual(["waiting", 2]);
  await page.pass(1500);
  await last()?.answer({ robots: "b", keys: "a" });
  expect([liveness.get(), lists().length]).toEqual(["live", 3]);
});

it.each([
  ["between two questions", 0],
  ["while it waits for an answer", 2500],
  ["while the service does not answer", 5000],
])("a page that stops %s asks nothing afterwards", async (_when, ms) => {
  const { page, end, questions } = await scene();
  await page.pass(ms);
  const before = questions().length;
  end();
  await page.pass(60_000);
  page.see("visible");
  await page.pass(60_000);
  expect([questions().length, page.timers()]).toEqual([before, 0]);
});

it("hidden → asks nothing; visible again → asks at once, and fetches what changed", async () => {
  const { page, lists, last } = await scene();
  page.see("hidden");
  const before = page.requests.length;
  await page.pass(50_000);
  expect([page.requests.length, page.timers()]).toEqual([before, 0]);
  page.see("visible");
  await page.pass(0);
  await last()?.answer({ robots: "b", keys: "a" });
  expect([page.requests.length, lists().length]).toEqual([before + 2, 2]);
});

it("opened in the background → asks once, so that its data can be fetched", async () => {
  const page = openPage();
  page.see("hidden");
  onTestFinished(startLive());
  await page.requests[0]?.answer({});
  await page.pass(60_000);
  expect([liveness.get(), page.requests.length]).toEqual(["live", 1]);
});
