import { expect, it } from "vitest";

import { createTimeSlices, yieldEventLoop } from "../../../../../src/service/kernel/traffic/event-loop.ts";

it("one step of all long work runs in each turn of the event loop, in the order of the calls", async () => {
  const steps: string[] = [];
  let isOver = false;
  const count = () => {
    steps.push("|");
    if (!isOver) setImmediate(count);
  };
  const work = async (name: string) => {
    for (let step = 1; step <= 2; step += 1) {
      await yieldEventLoop();
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

it("work yields once its time slice is over, and not before", async () => {
  let elapsedMs = 0;
  const yieldWhenDue = createTimeSlices({ monotonicMs: () => elapsedMs });
  expect(yieldWhenDue()).toBeUndefined();
  elapsedMs += 10;
  const yielded = yieldWhenDue();
  expect(yielded).toBeInstanceOf(Promise);
  await yielded;
  expect(yieldWhenDue()).toBeUndefined();
});
