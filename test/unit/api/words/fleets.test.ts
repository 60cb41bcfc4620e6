import { expect, test } from "vitest";

import type { PreviewedRobot } from "../../../../src/api/fleet-details.ts";
import { fitCounts, fitGroups } from "../../../../src/api/words/fit-groups.ts";
import { memberStateInWords } from "../../../../src/api/words/fleets.ts";

test("memberStateInWords: a robot over the peak is not shown as waiting", () => {
  expect(memberStateInWords({ state: "waiting", waiting_for: "peak" })).toBe("over the peak");
  expect(memberStateInWords({ state: "waiting", waiting_for: "endpoint" })).toBe("waiting");
  expect(memberStateInWords({ state: "ready", waiting_for: null })).toBe("ready");
});

test("fitGroups: incompatible groups first, larger groups first", () => {
  const robot = (fits: boolean | null, reason: string | null): PreviewedRobot => {
    const where = { robot_type_id: "acme.arm.v1", region: "eu", site: null };
    return { robot_id: "rob_1", robot: "arm", ...where, fits, reason };
  };
  const robots = [
    robot(true, null),
    robot(true, "endpoint"),
    robot(false, "camera"),
    robot(false, "axes"),
    robot(false, "axes"),
  ];
  const groups = fitGroups(robots);
  expect(groups.map((group) => [group.fit, group.reason, group.robots.length])).toEqual([
    ["lacks", "axes", 2],
    ["lacks", "camera", 1],
    ["waits", "endpoint", 1],
    ["runs", null, 1],
  ]);
  expect(fitCounts(groups)).toEqual({ lacks: 3, waits: 1, runs: 1 });
});
