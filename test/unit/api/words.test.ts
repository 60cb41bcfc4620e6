import { expect, test } from "vitest";

import type { PreviewedRobot } from "../../../src/api/fleet-details.ts";
import { failureOf } from "../../../src/api/words/deployment-failures.ts";
import { fitCounts, fitGroups } from "../../../src/api/words/fit-groups.ts";
import { memberStateInWords } from "../../../src/api/words/fleets.ts";
import { axesInWords } from "../../../src/api/words/requirements.ts";


test.each([
  ["preparation_timeout", "Its endpoint was not healthy in time."],
  ["robot_on_fire", "robot_on_fire."],
  [null, undefined],
  [undefined, undefined],
  ["", undefined],
])("failureOf: %j → %j", (code, what) => {
  expect(failureOf({ id: "dep_1", status: "failed", last_error_code: code })?.what).toBe(what);
});

test.each([
  ["waiting", "peak", "over the peak"],
  ["waiting", "robot", "offline"],
  ["waiting", "endpoint", "waiting"],
  ["ready", null, "ready"],
] as const)("memberStateInWords: %s for %s → %s", (state, waitingFor, words) => {
  expect(memberStateInWords({ state, waiting_for: waitingFor })).toBe(words);
});

test("fitGroups: incompatible groups first, larger groups first", () => {
  const robot = (fits: boolean | null, reason: string | null): PreviewedRobot => {
    const where = { robot_type_id: "acme.arm.v1", region: "eu", site: null };
    return { robot_id: "rob_1", robot: "arm", ...where, fits, reason };
  };
  const groups = fitGroups([
    robot(true, null),
    robot(true, "endpoint"),
    robot(false, "camera"),
    robot(false, "axes"),
    robot(false, "axes"),
  ]);
  expect(groups.map((group) => [group.fit, group.reason, group.robots.length])).toEqual([
    ["lacks", "axes", 2],
    ["lacks", "camera", 1],
    ["waits", "endpoint", 1],
    ["runs", null, 1],
  ]);
  expect(fitCounts(groups)).toEqual({ lacks: 3, waits: 1, runs: 1 });
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
])("axesInWords: %j → %j", (value, text) => {
  expect(axesInWords(value)).toBe(text);
});
