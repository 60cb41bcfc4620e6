import { expect, it } from "vitest";

import { counted } from "../../../src/views/view.ts";

it.each([
  [0, "0 robots"],
  [1, "1 robot"],
  [1204, "1,204 robots"],
])("counted: %i → %s", (count, text) => {
  expect(counted(count, "robot")).toBe(text);
});
