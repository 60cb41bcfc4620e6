import { expect, test } from "vitest";

import { failureOf } from "../../../src/views/deployments.ts";
import { axesText } from "../../../src/views/models.ts";

test.each([
  ["preparation_timeout", "Its endpoint was not healthy in time."],
  ["robot_on_fire", "robot_on_fire."],
  [null, undefined],
  [undefined, undefined],
  ["", undefined],
])("failureOf: %j → %j", (code, what) => {
  expect(failureOf({ id: "dep_1", status: "failed", last_error_code: code })?.what).toBe(what);
});

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
])("axesText: %j → %j", (value, text) => {
  expect(axesText(value)).toBe(text);
});
