import { setImmediate as turn } from "node:timers/promises";

import { expect, it } from "vitest";

import {
  connectionAccepted,
  createTimeSlices,
  letOthersIn,
} from "../../../../../src/service/kernel/traffic/let-others-in.ts";

it("of all long work one step is taken in each turn of the event loop, in the order of asking", async () => {
  const steps: string[] = [];
  let isOver = false;
  const count = () => {
    steps.push("|");
    if (!isOver) setImmediate(count);
  };
  const work = async (name: string) => {
    for (let step = 1; step <= 2; step += 1) {
      await letOthersIn();
      steps.push(`${name}${step}`);
    }
  };
  setImmediate(count);
  await Promise.all([work("a"), work("b"), work("c")]);
  isOver = true;
  const order = steps.filter((step) => step !== "|");
  expect(order).toEqual(["a1", "b1", "c1", "a2", "b2", "c2"]);
  const turns = steps.join("").split("|");
  expect(turns.every((one) => one.length <= "a1".length)).toBe(true);
});

it("work that takes no time lets nobody in; after its slice it does, once", async () => {
  let elapsedMs = 0;
  const yieldWhenDue = createTimeSlices({ monotonicMs: () => elapsedMs });
  expect(yieldWhenDue()).toBeUndefined();
  elapsedMs += 10;
  const letIn = yieldWhenDue();
  expect(letIn).toBeInstanceOf(Promise);
  await letIn;
  expect(yieldWhenDue()).toBeUndefined();
});

it("while connections are accepted work goes on now and then, and afterwards at once", async () => {
  const yieldWhenDue = createTimeSlices({ monotonicMs: () => 0 });
  let steps = 0;
  const ended = new AbortController();
  connectionAccepted();
  const work = async () => {
    while (!ended.signal.aborted) {
      await yieldWhenDue();
      steps += 1;
      await letOthersIn();
    }
  };
  const working = work();
  for (let accepted = 0; accepted < 200; accepted += 1) {
    connectionAccepted();
    await turn();
  }
  const whileConnectionsCame = steps;
  ended.abort();
  await working;
  expect(whileConnectionsCame).toBeGreaterThan(1);
  expect(whileConnectionsCame).toBeLessThan(50);
  expect(yieldWhenDue()).toBeUndefined();
});
