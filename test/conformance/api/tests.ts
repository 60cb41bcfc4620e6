import { it } from "vitest";

import { register } from "./registering.ts";
import type { Target } from "./target.ts";

/** What each part of the conformance tests needs. */
export interface Tests {
  readonly target: () => Target;
  readonly it: ReturnType<typeof testsOf>;
  /** Defines tests whose result does not depend on the store: they run on one service only. */
  readonly itOnce: ReturnType<ReturnType<typeof testsOf>["skipIf"]>;
}

/** Fixtures: `client`, of a new organization; `equipped`, of one with the robots r1 and r2. */
export function testsOf(target: () => Target) {
  return it
    .extend("client", () => target().organization())
    .extend("equipped", async ({ client }) => {
      await register(client, ["r1", "r2"]);
      return client;
    });
}
