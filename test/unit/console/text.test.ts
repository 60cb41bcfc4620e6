import { expect, it } from "vitest";

import { countedOf } from "../../../src/console/browser/parts/text.ts";
import { counted } from "../../../src/views/view.ts";

it.each([
  [0, "0 robots"],
  [1, "1 robot"],
  [1204, "1,204 robots"],
])("counted: %i → %s", (count, text) => {
  expect(counted(count, "robot")).toBe(text);
});

it.each([
  [0, 1, "0 of 1 uses"],
  [1, 1, "1 use"],
  [1, 10, "1 of 10 uses"],
  [10, 10, "10 uses"],
  [1000, 2000, "1,000 of 2,000 uses"],
])("countedOf: %i of %i → %s", (count, total, text) => {
  expect(countedOf(count, total, "use")).toBe(text);
});
