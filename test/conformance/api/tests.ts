import { it } from "vitest";

import { register } from "./registering.ts";
import type { Target } from "./target.ts";

/** What a part of the conformance tests is made of. */
export interface Tests {
  readonly target: () => Target;
  readonly it: ReturnType<typeof testsOf>;
  /** Defines tests too, or leaves them out: of what shows the same on every service. */
  readonly itOnce: ReturnType<ReturnType<typeof testsOf>["skipIf"]>;
}

/** Tests get what they name: `client`, of an organization that has nothing yet; `equipped`, of one with the robots r1 and r2. */
export function testsOf(target: () => Target) {
  return it
    .extend("client", () => target().organization())
    .extend("equipped", async ({ client }) => {
      await register(client, ["r1", "r2"]);
      return client;
    });
}
