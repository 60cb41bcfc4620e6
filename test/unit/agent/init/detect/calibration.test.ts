/** What calibrations of LeRobot say of their arm, and which of them a listed one may be stale beside. */
import { utimesSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { armOf, rangesOf, readCalibration } from "../../../../../src/agent/init/detect/calibration.ts";
import { findStaleCalibrations } from "../../../../../src/agent/init/detect/younger.ts";
import { systemClock } from "../../../../../src/platform/clock.ts";
import { systemFiles } from "../../../../../src/platform/files/files.ts";
import { type Layout, lerobotCalibration, robotHome } from "../../../../support/robot/homes.ts";

test("rangesOf: half the recorded travel in degrees, rounded outwards, and −100 to 100", () => {
  const ranges = rangesOf(armOf("so101_follower"), readCalibration(lerobotCalibration()), "arm");

  expect(ranges?.joints.map(({ joint, deg: [, high] }) => [joint, high])).toEqual([
    ["shoulder_pan", 79.2],
    ["shoulder_lift", 88],
    ["elbow_flex", 96.8],
    ["wrist_flex", 105.5],
    ["wrist_roll", 180],
  ]);
  expect(ranges?.joints.every(({ deg: [low, high] }) => low === -high)).toBe(true);
  expect(ranges?.joints[0]?.calibrated_range).toEqual([-100, 100]);
});

const EMPTY_RANGE = lerobotCalibration().replace(/"range_max": \d+/, '"range_max": 1147');

test.for([
  ["an arm whose file has constants", "openarm_follower", lerobotCalibration()],
  ["an arm of a plugin", "my_arm", lerobotCalibration()],
  ["other names of joints", "lekiwi", lerobotCalibration()],
  ["a joint that was not moved", "so_follower", EMPTY_RANGE],
  ["no calibration", "so_follower", "{}"],
  ["half a file", "so_follower", lerobotCalibration().slice(0, 300)],
] as const)("rangesOf: none for %s", ([, folder, text]) => {
  expect(rangesOf(armOf(folder), readCalibration(text), "arm")).toBeNull();
});

const ROBOTS = ".cache/huggingface/lerobot/calibration/robots";
const OTHER = lerobotCalibration("", 2000);

test.for<[what: string, layout: Layout, listed: string, younger: string | null]>([
  ["the renamed folder", { "so_follower/a.json": OTHER }, "so101_follower/a.json", "so_follower/a.json"],
  ["another --robot.id", { "so_follower/b.json": OTHER }, "so_follower/a.json", "so_follower/b.json"],
  ["None.json", { "so_follower/None.json": OTHER }, "so_follower/a.json", "so_follower/None.json"],
  ["nothing, for a copy", { "so_follower/a.json": lerobotCalibration() }, "so101_follower/a.json", null],
  ["nothing, for the other side", { "so_follower/a_right.json": OTHER }, "so_follower/a_left.json", null],
  ["nothing, for another kind of arm", { "koch_follower/a.json": OTHER }, "so_follower/a.json", null],
  ["nothing, for other joints", { "so_follower/b.json": lerobotCalibration("x_") }, "so_follower/a.json", null],
  ["nothing, for half a file", { "so_follower/b.json": OTHER.slice(0, 90) }, "so_follower/a.json", null],
])("findStaleCalibrations: finds %s", async ([, besides, listed, younger]) => {
  const layout = Object.entries({ ...besides, [listed]: lerobotCalibration() });
  const { home } = robotHome(Object.fromEntries(layout.map(([path, text]) => [join(ROBOTS, path), text])));
  const at = (path: string) => join(home, ROBOTS, path);
  const options = { files: systemFiles, clock: systemClock, signal: new AbortController().signal, homes: [] };

  const found = await findStaleCalibrations([at(listed), "/etc/hostname", at("gone/gone.json")], options);

  expect(found.map((each) => each.younger)).toEqual(younger === null ? [] : [at(younger)]);
  for (const { message } of found) expect(message).toContain("may be stale");
  // Older ones are no rivals, and neither are files that are listed as well.
  for (const path of Object.keys(besides)) utimesSync(at(path), 0, 0);
  expect(await findStaleCalibrations([at(listed)], options)).toEqual([]);
});

test("findStaleCalibrations: a younger file that is listed, too, is none", async () => {
  const { home } = robotHome({ [`${ROBOTS}/so_follower/b.json`]: OTHER, [`${ROBOTS}/so_follower/a.json`]: "{}" });
  const options = { files: systemFiles, clock: systemClock, signal: new AbortController().signal, homes: [] };
  const paths = ["a", "b"].map((id) => join(home, ROBOTS, `so_follower/${id}.json`));

  expect(await findStaleCalibrations(paths, options)).toEqual([]);
});
