import { expect, test } from "vitest";

import { axesInWords } from "../../../../src/api/words/requirements.ts";

const axes = (more: object) => ({ minimum_count: 0, maximum_count: null, units: [], names: [], ...more });

test.each([
  [null, "any"],
  ["of another service", "any"],
  [axes({}), "any"],
  [axes({ minimum_count: 6, maximum_count: 6 }), "exactly 6"],
  [axes({ minimum_count: 6, maximum_count: 8 }), "6 to 8"],
  [axes({ minimum_count: 6 }), "at least 6"],
  [axes({ maximum_count: 8, units: ["rad", "1"] }), "at most 8; each in rad or ratio"],
  [axes({ names: ["arm.wrist.position"] }), "among them arm.wrist.position"],
])("axesInWords: %j → %j", (value, text) => {
  expect(axesInWords(value)).toBe(text);
});
