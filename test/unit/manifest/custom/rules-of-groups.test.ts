/** The fifth stage of the specification for custom types. */
import { describe, expect, test } from "vitest";

import { readManifest } from "../../../../src/manifest/manifest.ts";
import { ARM, DROID, PAIR, POINTER, ROVER, rules, SO101 } from "./rule-cases.ts";

describe("stage 5: each group and camera by itself", () => {
  rules(ARM, {
    "zero of a unit without dimension": [{ "unit: rad": "unit: calibrated_range" }, "not_applicable /groups/0/zero"],
    "zero is not checked if the unit does not fit the kind": [
      { "unit: rad": "unit: percent" },
      "unit_kind /groups/0/unit",
    ],
    "a joint that does not turn without end has limits": [
      { "[-2, 2]": "{continuous: false}" },
      "not_allowed /groups/0/limits/position/1/continuous",
    ],
    "counts need to know the turn, other units do not": [
      { "unit: rad": "unit: counts" },
      "counts_missing /groups/0/counts_per_turn",
    ],
    "limits in counts of joints in rad": [
      { "velocity: 1": "velocity: 1, unit: counts" },
      "unit_unconvertible /groups/0/limits/unit",
    ],
    "deltas of joints and speeds of grippers": [
      { "zero: urdf": "zero: urdf\n    action: delta", "{name: gripper": "{action: velocity, name: gripper" },
      "quantity_kind /groups/0/action",
      "quantity_kind /groups/1/action",
    ],
  });
  rules(PAIR, {
    "normalized of a position, and of what is not commanded": [
      {
        "name: left_arm": "normalized: {full_scale: 1, per: step}, name: left_arm",
        "name: left_gripper": "action: none, normalized: {full_scale: 1, per: step}, name: left_gripper",
      },
      "not_applicable /groups/0/normalized",
      "not_applicable /groups/1/normalized",
    ],
    "a turn of what is not in counts": [
      { "zero: driver,": "zero: driver, counts_per_turn: 4096," },
      "not_applicable /groups/0/counts_per_turn",
    ],
    "side of a camera that is not on a wrist": [
      { "left_wrist, mount: wrist": "left_wrist, mount: head, side: none" },
      "not_applicable /cameras/0/side",
    ],
    "side of a camera against its role": [
      { "right_wrist, mount: wrist": "right_wrist, mount: wrist, side: none" },
      "side_conflict /cameras/1/side",
    ],
  });
  rules(POINTER, {
    "keys of other kinds": [
      { "kind: eef": "kind: eef\n    elements: [x]\n    zero: urdf\n    aperture: {closed: 0, open: 1}" },
      "not_applicable /groups/0/elements",
      "not_applicable /groups/0/zero",
      "not_applicable /groups/0/aperture",
    ],
    "a rotation that is not there is relative to nothing": [
      {
        "rotation: rotvec": "rotation: none\n    rotation_frame: tool pointing down",
        "[1, 1, 1, 2, 2, 2]": "[1, 1, 1]",
      },
      "not_applicable /groups/0/rotation_frame",
    ],
    "a delta that cannot be added": [
      { "rotation: rotvec": "rotation: rot6d\n    action: delta" },
      "quantity_kind /groups/0/action",
      "limits_length /groups/0/limits/velocity",
    ],
    "a workspace has three pairs; the parts of a quaternion have no speed": [
      { eef_delta: "eef_absolute", rotvec: "quat_xyzw", "{velocity": "{position: [[0, 1], [0, 1], [0, 1]], velocity" },
      "limits_length /groups/0/limits/velocity",
    ],
    "elements of an eef are counted only if its rotation is known": [
      { "    rotation: rotvec\n": "", "[1, 1, 1, 2, 2, 2]": "[1]", "{velocity": "{position: [], velocity" },
      "eef_rotation_missing /groups/0/rotation",
    ],
  });
  rules(ROVER, {
    "limits of a gripper and a base": [
      { "{velocity: [90, 1]}": "{velocity: [90, 1], unit: m, position: [[0, 1]]}" },
      "not_applicable /groups/0/limits/unit",
      "not_applicable /groups/0/limits/position",
    ],
    "only an angle is without end": [
      {
        "[[0, 900]]": "[{continuous: true}]",
        "unit: percent": "unit: percent, limits: {position: [[0, 1], [0, 1], {continuous: true}]}",
      },
      "not_applicable /groups/1/limits/position/0",
      "not_applicable /groups/3/limits/position/2",
    ],
    "limits of a hand in another unit without dimension": [
      { "unit: percent": "unit: percent, limits: {unit: ratio, position: [[0, 1], [0, 1], [0.5, 1]]}" },
    ],
    "speed and effort without dimension, each at its place": [
      { "unit: percent": "unit: percent, state: [velocity, effort], action: velocity" },
      "unit_unconvertible /groups/3/state/0",
      "unit_unconvertible /groups/3/state/1",
      "unit_unconvertible /groups/3/action",
    ],
    "a speed by default, without dimension": [
      { joint_position: "joint_velocity" },
      "unit_unconvertible /groups/2/action",
    ],
    "quantities of other kinds": [
      { "name: base": "state: [position], action: position, name: base" },
      "quantity_kind /groups/0/state/0",
      "quantity_kind /groups/0/action",
    ],
    "one speed that would mix units, even for one element": [
      { "[theta, x]": "[x]", "[90, 1]": "1" },
      "limits_length /groups/0/limits/velocity",
    ],
    "required members of a torso in metres": [{ " zero: driver,": "" }, "zero_missing /groups/1/zero"],
  });
  rules(SO101, {
    "counts of inherited limits after other elements": [
      { cameras: "groups: [{name: arm, elements: [a, b]}]\ncameras" },
      "limits_length /extends",
    ],
  });
  rules(DROID, {
    "a scale of the base with an own action": [
      { configuration: "action_semantics: joint_position\nconfiguration" },
      "not_applicable /extends",
    ],
    "counts of speeds and scales": [
      {
        configuration:
          "groups: [{name: arm, limits: {position: [], velocity: []}, normalized: {full_scale: [1], per: step}}]\nconfiguration",
      },
      "limits_length /groups/0/limits/position",
      "limits_length /groups/0/limits/velocity",
      "limits_length /groups/0/normalized/full_scale",
    ],
  });
  const WIDOWX =
    "robot_type_id: acme.cell.v1\nextends: bridge.widowx-250.v1\naction_semantics: joint_velocity\ncontrol_rate_hz: 5\nconfiguration_files: [/a]\ncameras: [{role: a, mount: head, width: 32, height: 32, fps: 5}]\n";
  rules(WIDOWX, { "findings about the base alone": [{}, "action_semantics_mismatch /action_semantics"] });
});

test("readManifest: limits in the unit of another dimension → says from which to which unit", async () => {
  const { findings } = await readManifest(Buffer.from(ROVER.replace("unit: mm}}", "unit: deg}}")));
  expect(findings.map(({ message }) => message)).toEqual(["deg cannot be converted to mm"]);
});
