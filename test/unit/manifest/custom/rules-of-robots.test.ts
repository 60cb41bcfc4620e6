/** The sixth stage of the specification for custom types. */
import { describe, expect, test } from "vitest";

import { readManifest } from "../../../../src/manifest/manifest.ts";
import { ALOHA, ARM, DROID, PAIR, POINTER, repeated, ROVER, rules, SO101 } from "./rule-cases.ts";

const RAIL =
  "  - {name: rail, kind: arm, side: none, elements: [x], unit: m, zero: driver, limits: {position: [[0, 1]]}}\n";

describe("stage 6: values, and the robot as a whole", () => {
  rules(ARM, {
    "an aperture that does not open": [
      { "closed: 0, open: 1": "closed: -0, open: 0" },
      "aperture_degenerate /groups/1/aperture",
    ],
    "limits that 12 digits cannot tell apart": [
      { "[-2, 2]": "[2, 2.0000000000001]" },
      "limits_inverted /groups/0/limits/position/1",
    ],
    "a missing limit is where limits are written": [
      { "{position: [[-1, 1], [-2, 2]], velocity: 1}": "\n      velocity: 1" },
      "limits_missing /groups/0/limits/position",
    ],
    "a missing limit where none are written": [
      { "    limits: {position: [[-1, 1], [-2, 2]], velocity: 1}\n": "" },
      "limits_missing /groups/0/limits/position",
    ],
    "values that look like degrees": [
      { "[-2, 2]": "[-2, 12.6]" },
      "limits_look_like_degrees /groups/0/limits/position",
    ],
    "several groups are one arm, as where it also has a rail": [
      { "  - {name: gripper": `${RAIL}  - {name: gripper` },
      "side_missing /groups/0/side",
    ],
    "several groups are one arm, and say so": [
      { "kind: arm": "kind: arm\n    side: none", "  - {name: gripper": `${RAIL}  - {name: gripper` },
    ],
    "a joint that turns without end": [{ "[-2, 2]": "{continuous: true}" }],
    "one implausible speed is one finding": [
      { "velocity: 1": "velocity: 50.1" },
      "velocity_limit /groups/0/limits/velocity",
    ],
    "a full scale against a limit in another unit": [
      {
        joint_position: "joint_velocity",
        "limits: {position: [[-1, 1], [-2, 2]], velocity: 1}":
          "limits: {unit: deg, velocity: [57, 58]}\n    normalized: {full_scale: 1, per: second}",
      },
      "warning full_scale_over_limit /groups/0/normalized",
    ],
    "a required base is missing": [{ single_arm: "mobile_manipulator" }, "topology_mismatch /topology"],
    "two hands make no second arm": [
      {
        single_arm: "bimanual",
        "name: arm": "name: left_arm",
        cameras: "  - {name: right_hand, kind: hand, elements: [a], unit: ratio}\ncameras",
      },
      "topology_mismatch /topology",
    ],
    "gripper none with a gripper group, and a gripper without one": [
      { topology: "gripper: binary\ntopology", "{name: gripper": "{action: none, name: gripper" },
      "gripper_mismatch /gripper",
    ],
    "nothing to observe or to command": [
      {
        "unit: rad": "unit: rad\n    state: []\n    action: none",
        "{name: gripper, kind: gripper": "{action: none, state: [], name: gripper, kind: gripper",
      },
      "action_semantics_mismatch /action_semantics",
      "axis_count /groups",
      "axis_count /groups",
    ],
    "numbers so small that derived ones are too large": [
      { "control_rate_hz: 20": "control_rate_hz: 1e-320" },
      "not_finite /groups",
    ],
    "a speed close to zero": [{ "velocity: 1": "velocity: 5e-324" }, "not_finite /groups"],
    "an aperture close to zero": [{ "open: 1": "open: 1e-320" }, "not_finite /groups"],
  });
  rules(PAIR, {
    "values that look like radians": [
      { "[[-90, 90], [-120, 10]]": "[[-6.28, 1], [0, 1]]" },
      "warning limits_look_like_radians /groups/0/limits/position",
    ],
    "whole numbers beyond half a turn are degrees": [{ "[[-90, 90], [-120, 10]]": "[[-5, 5], [0, 5]]" }],
    "side none does not count as a required side": [
      { "role: left_wrist, mount: wrist": "role: wrist, mount: wrist, side: none" },
      "side_missing /cameras/0/side",
    ],
  });
  rules(POINTER, {
    "an end effector by position needs a workspace, its rotation does not": [
      { eef_delta: "eef_absolute", "{velocity: [1, 1, 1, 2, 2, 2]}": "{position: [[0, 1], [0, 1], [0, 1]]}" },
    ],
    "implausible speeds, each at its place": [
      { rotvec: "rotvec\n    angle_unit: deg", "[1, 1, 1, 2, 2, 2]": "[10, 11, 1, 2, 2800, 2900]" },
      "velocity_limit /groups/0/limits/velocity/1",
      "velocity_limit /groups/0/limits/velocity/5",
    ],
    "a full scale beyond the limit, per second": [
      { "[1, 1, 1, 2, 2, 2]}": "[1, 1, 1, 2, 2, 2]}\n    normalized: {full_scale: [1, 1, 1, 2, 2, 2.1], per: second}" },
      "warning full_scale_over_limit /groups/0/normalized",
    ],
    "a full scale at the limit, per step": [
      {
        "[1, 1, 1, 2, 2, 2]}":
          "[1, 1, 1, 2, 2, 2]}\n    normalized: {full_scale: [0.2, 0.2, 0.2, 0.4, 0.4, 0.4], per: step}",
      },
    ],
    "a limb with another action": [
      { cameras: "  - {name: arm, kind: arm, action: position, elements: [a], unit: calibrated_range}\ncameras" },
      "action_semantics_mismatch /groups/1/action",
    ],
  });
  rules(ROVER, {
    "limits inverted and beyond the unit, at one pair": [
      { "unit: percent": "unit: percent, limits: {position: [[120, 5], [0, 100], [0, 1]]}" },
      "limits_exceed_unit /groups/3/limits/position/0",
      "limits_inverted /groups/3/limits/position/0",
    ],
    "limits beyond their own unit": [
      { calibrated_range: "calibrated_range, limits: {unit: ratio, position: [[-0.5, 1]]}" },
      "limits_exceed_unit /groups/2/limits/position/0",
    ],
    "a base and an eef need speeds": [
      { ", limits: {velocity: [90, 1]}": "" },
      "limits_missing /groups/0/limits/velocity",
    ],
    "limits in deg that are labelled rad": [
      { "unit: calibrated_range": "unit: deg, zero: urdf, limits: {unit: rad, position: [[-90, 90]]}" },
      "limits_look_like_degrees /groups/2/limits/position",
    ],
    "a base that is not allowed": [{ mobile_manipulator: "single_arm" }, "topology_mismatch /topology"],
    "two of a kind without sides": [
      { cameras: "  - {name: second_arm, kind: arm, elements: [j1], unit: calibrated_range}\ncameras" },
      "side_missing /groups/2/side",
      "side_missing /groups/4/side",
    ],
    "two heads need no side": [
      {
        cameras:
          "  - {name: h1, kind: head, elements: [a], unit: calibrated_range}\n  - {name: h2, kind: head, elements: [a], unit: calibrated_range}\ncameras",
      },
    ],
    "right before left, across kinds": [
      { "name: lift": "name: right_lift", "name: hand": "name: left_hand", ", side: none": "" },
      "warning right_first /groups/1/name",
    ],
    "sorted fingers": [
      { "[thumb, index, pinky_1]": "[index, pinky_0, thumb]" },
      "warning hand_sorted /groups/3/elements",
    ],
  });
  rules(SO101, {
    "wider than the base, in other units": [
      {
        cameras:
          "groups: [{name: arm, limits: {unit: rad, position: [[-3.15, 3.15], [-1, 1], [-1, 1], [-1, 1], [-1, 1]]}}]\ncameras",
      },
      "warning limits_wider_than_base /groups/0/limits",
    ],
    "further than the base from the middle of the calibrated travel, but not faster": [
      {
        cameras:
          "groups: [{name: arm, limits: {unit: rad, position: [[-3.1, 3.1], [-1, 1], [-1, 1], [-1, 1], [-1, 1]], velocity: 4}}]\ncameras",
      },
    ],
    "faster than the base, within its calibrated travel": [
      {
        cameras:
          "groups: [{name: arm, limits: {unit: rad, position: [[-1, 1], [-1, 1], [-1, 1], [-1, 1], [-1, 1]], velocity: 5}}]\ncameras",
      },
      "warning limits_wider_than_base /groups/0/limits",
    ],
    "narrower than the base": [
      {
        cameras:
          "groups: [{name: arm, limits: {unit: rad, position: [[-1.9, 1.9], [-1, 1], [-1, 1], [-1, 1], [-1, 1]]}}]\ncameras",
      },
    ],
    "limits of other elements are not compared with the base": [
      { cameras: "groups: [{name: arm, elements: [a], limits: {position: [[-179, 179]]}}]\ncameras" },
    ],
    "an action without one in the base, with own semantics": [{ cameras: "action_semantics: joint_velocity\ncameras" }],
  });
  rules(DROID, {
    "a gripper of the base that is no longer commanded": [
      { configuration: "groups: [{name: gripper, action: none}]\nconfiguration" },
      "warning full_scale_over_limit /extends",
      "gripper_mismatch /extends",
    ],
  });
  rules(ALOHA, {
    "cameras of the base, slower than the rate": [
      { configuration: "control_rate_hz: 61\nconfiguration" },
      "warning camera_slow /extends",
      "warning camera_slow /extends",
      "warning camera_slow /extends",
      "warning camera_slow /extends",
    ],
  });
  const head = `{name: NAME, kind: head, unit: calibrated_range, action: none, elements: [e${repeated(", NAME", 63)}]}`;
  rules(ROVER, {
    "more than 256 axes": [{ cameras: `${repeated(`  - ${head}\n`, 4)}cameras` }, "axis_count /groups"],
  });
  rules(SO101, {
    "more than 256 axes with those of the base": [
      { cameras: `groups: [${repeated(`${head}, `, 4)}]\ncameras` },
      "axis_count /groups",
    ],
  });
});

test("readManifest: joints in rad and in m in one arm → says how it is written", async () => {
  const rail =
    "  - {name: rail, kind: arm, elements: [z], unit: m, zero: urdf, limits: {position: [[0, 1]]}}\ncameras:";
  const { findings } = await readManifest(Buffer.from(ARM.replace("cameras:", rail)));
  const message = "left or right? Where one arm is written as several groups: side: none";
  expect(findings.map(({ id, message: said }) => [id, said])).toEqual([
    ["side_missing", message],
    ["side_missing", message],
  ]);
});
