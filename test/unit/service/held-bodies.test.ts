import { expect, it } from "vitest";

import { createHeldBodies } from "../../../src/service/http/held-bodies.ts";

it("holds as much as fits, and again what was released", () => {
  const bodies = createHeldBodies(100);
  expect([bodies.hold(60), bodies.hold(50), bodies.hold(40), bodies.hold(1)]).toEqual([true, false, true, false]);
  bodies.release(60);
  expect([bodies.hold(61), bodies.hold(60)]).toEqual([false, true]);
});

it("a body that is too large for everything is still taken alone", () => {
  const bodies = createHeldBodies(100);
  expect([bodies.hold(500), bodies.hold(1)]).toEqual([true, false]);
  bodies.release(500);
  expect(bodies.hold(1)).toBe(true);
});
