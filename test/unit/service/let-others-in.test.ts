import { setImmediate as nextTurn } from "node:timers/promises";

import { expect, it } from "vitest";

import { connectionAccepted, createTimeSlices, letOthersIn } from "../../../src/service/let-others-in.ts";

it("of all long work one step is taken in each turn of the event loop, in the order of asking", async () => {
  const steps: string[] = [];
  let isOver = false;
  const turn = () => {
    steps.push("|");
    if (!isOver) setImmediate(turn);
  };
  const work = async (name: string) => {
    for (let step = 1; step <= 2; step += 1) {
      await letOthersIn();
      steps.push(`${name}${step}`);
    }
  };
  setImmediate(turn);
  await Promise.all([work("a"), work("b"), work("c")]);
  isOver = true;
  const order = steps.filter((step) => step !== "|");
  expect(order).toEqual(["a1", "b1", "c1", "a2", "b2", "c2"]);
  const turns = steps.join("").split("|");
  expect(turns.every((one) => one.length <= "a1".length)).toBe(true);
});

it("work that takes no time lets nobody in; after its slice it does, once", async () => {
  let elapsed_ms = 0;
  const yieldWhenDue = createTimeSlices({ monotonic_ms: () => elapsed_ms });
  expect(yieldWhenDue()).toBeUndefined();
  elapsed_ms += 10;
  const let_in = yieldWhenDue();
  expect(let_in).toBeInstanceOf(Promise);
  await let_in;
  expect(yieldWhenDue()).toBeUndefined();
});

it("while connections are accepted each step lets others in, and no longer", async () => {
  const yieldWhenDue = createTimeSlices({ monotonic_ms: () => 0 });
  connectionAccepted();
  expect(yieldWhenDue()).toBeInstanceOf(Promise);
  await nextTurn();
  connectionAccepted();
  await nextTurn();
  expect(yieldWhenDue()).toBeInstanceOf(Promise);
  await nextTurn();
  expect(yieldWhenDue()).toBeUndefined();
});
