import { expect, it, onTestFinished } from "vitest";

import { watch } from "../../../src/console/browser/data/cache.ts";
import { startLive } from "../../../src/console/browser/data/live.ts";
import { liveness } from "../../../src/console/browser/data/liveness.ts";
import { reached, storeTag } from "../../../src/console/browser/data/request.ts";
import { openPage } from "./page.ts";

/** A page with live updates, and its requests that check whether the service answers. */
function scene() {
  const page = openPage();
  storeTag.set("as-it-was");
  reached.set(true);
  const end = startLive("ses_1");
  onTestFinished(end);
  const questions = () => page.requests.filter(({ path }) => path === "/v1/me/session");
  return { page, end, questions };
}

it("a page that receives heartbeats sends no requests, and runs one timer", async () => {
  const { page, questions } = scene();
  page.tell("open");
  for (let beats = 0; beats < 10; beats += 1) {
    await page.pass(2000);
    page.tell("beat");
  }
  expect([liveness.get(), questions().length, page.timers()]).toEqual(["live", 0, 1]);
});

it("after 2.5 s of silence a page sends a request, after 2 s more it is `waiting`, and after an answer it reconnects", async () => {
  const { page, questions } = scene();
  page.tell("open");
  await page.pass(2499);
  expect(questions()).toHaveLength(0);
  await page.pass(1);
  expect([liveness.get(), questions().length]).toEqual(["live", 1]);
  await page.pass(2000);
  expect(liveness.get()).toBe("waiting");
  await page.pass(1500);
  expect(questions()).toHaveLength(2);
  await questions()[1]?.answer({});
  expect([liveness.get(), page.streams()]).toEqual(["connecting", []]);
  // The delay before the next request has jitter.
  for (let seconds = 0; seconds < 10 && page.streams().length === 0; seconds += 1) {
    await page.pass(1000);
    await questions().at(-1)?.answer({});
  }
  expect(page.streams()).toEqual(["/console/events"]);
  page.tell("open");
  expect(liveness.get()).toBe("live");
});

it.each([
  ["between two questions", async () => {}],
  ["while it waits for an answer", (pass: (ms: number) => Promise<void>) => pass(2500)],
  ["while the service does not answer", (pass: (ms: number) => Promise<void>) => pass(4500)],
])("a page that stops %s sends and receives nothing afterwards", async (_when, first) => {
  const { page, end, questions } = scene();
  page.tell("open");
  await first(page.pass);
  const before = questions().length;
  end();
  expect(page.streams()).toEqual([]);
  await page.pass(60_000);
  page.see("visible");
  await page.pass(60_000);
  expect([questions().length, page.timers()]).toEqual([before, 0]);
});

it("a hidden page sends and receives nothing; when visible again it fetches everything and reconnects", async () => {
  const { page } = scene();
  onTestFinished(watch("/v1/robots", ["robots"], () => {}));
  await page.requests[0]?.answer([]);
  page.see("hidden");
  const before = page.requests.length;
  await page.pass(60_000);
  expect([page.streams(), page.requests.length, page.timers()]).toEqual([[], before, 0]);
  page.see("visible");
  expect(page.streams()).toEqual(["/console/events"]);
  expect(page.requests.slice(before).map(({ path }) => path)).toEqual(["/v1/robots"]);
});

it.each([
  ["of a watched topic", { topics: ["robots"] }, 2],
  ["of something else", { topics: ["keys"] }, 1],
  ["of an unknown kind", { kinds: [] }, 2],
])("a page that receives a change %s fetches accordingly", async (_what, data, count) => {
  const { page } = scene();
  onTestFinished(watch("/v1/robots", ["robots"], () => {}));
  page.tell("open");
  const robotLists = () => page.requests.filter(({ path }) => path === "/v1/robots");
  await robotLists()[0]?.answer([]);
  await page.pass(1000);
  page.tell("changed", data);
  expect(robotLists()).toHaveLength(count);
});
