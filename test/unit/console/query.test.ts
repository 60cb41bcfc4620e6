import { expect, it, onTestFinished } from "vitest";

import {
  forgetAll,
  invalidate,
  type Query,
  refresh,
  retryAll,
  watch,
} from "../../../src/console/browser/data/query.ts";
import { request } from "../../../src/console/browser/data/request.ts";
import type { Topic } from "../../../src/console/topics.ts";
import { openPage, type Page } from "./page.ts";

const ROBOTS = "/v1/robots";

/** A component that shows what the path answers. */
function read(page: Page, path = ROBOTS, topics: readonly Topic[] = ["robots"]) {
  const query: Query<unknown> = { key: path, ask: (signal) => request("GET", path, { signal }), topics };
  let renderings = 0;
  const stop = watch(query, () => {
    renderings += 1;
  });
  onTestFinished(stop);
  const requests = () => page.requests.filter((each) => each.path === path);
  return { stop, requests, last: () => requests().at(-1), renderings: () => renderings };
}

it("sends one request for several readers, and another one after a change of its topic", async () => {
  const page = openPage();
  const { requests, renderings } = read(page);
  read(page);
  await requests()[0]?.answer(["one"]);
  expect([requests().length, renderings()]).toEqual([1, 1]);
  refresh(["fleets", "keys"]);
  expect(requests()).toHaveLength(1);
  refresh(["robots"]);
  await requests()[1]?.answer(["two"]);
  invalidate(["robots"]);
  expect([requests().length, renderings()]).toEqual([3, 2]);
});

it("asks again after a change during a request, whose answer may be too old", async () => {
  const page = openPage();
  const { requests } = read(page);
  refresh(["robots"]);
  expect(requests()).toHaveLength(1);
  await requests()[0]?.answer(["before"]);
  refresh([]);
  expect(requests()).toHaveLength(2);
  await requests()[1]?.answer(["after"]);
  refresh([]);
  expect(requests()).toHaveLength(2);
});

it("asks again for an answer that is a minute old, unless it is asked for once", async () => {
  const page = openPage();
  const { requests } = read(page);
  const once = read(page, "/v1/robot-enrollments/CODE", []);
  for (const one of [requests, once.requests]) await one()[0]?.answer([]);
  await page.pass(59_999);
  refresh([]);
  expect(requests()).toHaveLength(1);
  await page.pass(1);
  refresh([]);
  expect([requests().length, once.requests().length]).toEqual([2, 1]);
});

it("asks again ten seconds after a failure, and at once after an outage", async () => {
  const page = openPage();
  const { requests, last } = read(page);
  await last()?.answer(["one"]);
  invalidate(["robots"]);
  await last()?.fail();
  await page.pass(9999);
  refresh([]);
  expect(requests()).toHaveLength(2);
  await page.pass(1);
  refresh([]);
  expect(requests()).toHaveLength(3);
  // It hangs since before the outage.
  retryAll();
  expect([requests().length, requests()[2]?.signal.aborted]).toEqual([4, true]);
  await last()?.answer(["two"]);
  retryAll();
  expect(requests()).toHaveLength(4);
});

it("does not ask again after a 403 until the data changes", async () => {
  const page = openPage();
  const { requests, last } = read(page);
  await last()?.answer({ detail: "Forbidden" }, 403);
  await page.pass(20_000);
  refresh([]);
  retryAll();
  expect(requests()).toHaveLength(1);
});

it("aborts the request when the last reader leaves, and asks again for the next one", async () => {
  const page = openPage();
  const { stop, requests } = read(page);
  stop();
  expect(requests()[0]?.signal.aborted).toBe(true);
  refresh(["robots"]);
  expect(requests()).toHaveLength(1);
  read(page);
  expect(requests()).toHaveLength(2);
});

it("keeps the last 64 answers, and none that is asked for once", async () => {
  const page = openPage();
  const show = async (path: string, topics?: readonly Topic[]) => {
    const { stop, requests } = read(page, path, topics);
    const { length } = requests();
    await requests()[length - 1]?.answer([]);
    stop();
    return length;
  };
  for (let robot = 0; robot <= 64; robot += 1) await show(`${ROBOTS}/arm-${robot}`);
  await show("/v1/robot-enrollments/CODE", []);
  const { length } = page.requests;
  forgetAll();
  expect([length, page.timers()]).toEqual([66, 0]);
});
