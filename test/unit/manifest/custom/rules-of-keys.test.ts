/** The first stages of the specification for custom types: each key by itself, ids and required keys. */
import { describe } from "vitest";

import { ARM, DROID, PAIR, POINTER, ROVER, rules, SO101 } from "./rule-cases.ts";

describe("no findings", () => {
  rules(ARM, {
    "keys of one's own stand everywhere": [
      {
        "{closed: 0": "{x-a: {b: [todo]}, closed: 0",
        "{position": "{x-: 0, position",
        "fps: 30": "fps: 30, x-serial: ~",
        "kind: arm": "x-kind: leg\n    kind: arm",
        "[/etc/arm.yaml]": "[{path: /etc/arm.yaml, x-a: 1}]",
      },
    ],
    "numbers in another notation": [{ "640": "6.4e2", "control_rate_hz: 20": "control_rate_hz: 2.0E+1" }],
    "a name with left and right has no side": [{ "name: arm": "name: left_right_arm\n    side: right" }],
    "left inside a word is no side": [{ "name: arm": "name: cleft_arm\n    side: right" }],
    "just under two turns": [{ "[-1, 1]": "[-12.5, 12.5]" }],
    "a wrist camera of a one-sided robot": [{ "role: front, mount: exterior": "role: hand, mount: wrist" }],
    "a gripper's velocity is not checked": [{ "open: 1}": "open: 1}, limits: {velocity: [4000]}" }],
    "a high velocity where it is allowed": [{ "velocity: 1": "velocity: [50, 50]" }],
  });
  rules(POINTER, {
    "an arm beside the eef that acts": [
      { cameras: "  - {name: arm, kind: arm, elements: [a], unit: rad, zero: urdf}\ncameras" },
    ],
    "full scale for each element": [
      {
        "{velocity: [1, 1, 1, 2, 2, 2]}": "{}\n    normalized: {per: step, full_scale: [0.1, 0.1, 0.1, 0.2, 0.2, 0.2]}",
      },
    ],
    "one full scale for all elements of an eef": [
      { "{velocity: [1, 1, 1, 2, 2, 2]}": "{}\n    normalized: {per: second, full_scale: 0.1}" },
    ],
  });
  rules(ROVER, {
    "fingers in another order than the alphabet's": [{ "[thumb, index, pinky_1]": "[thumb_1, index_1, index_0]" }],
    "fingers with one stem": [{ "[thumb, index, pinky_1]": "[f3, f_1, f_2]" }],
  });
  rules(SO101, {
    "a reordered group with its limits": [
      {
        cameras:
          "groups: [{name: arm, elements: [wrist_roll, shoulder_pan, shoulder_lift, elbow_flex, wrist_flex]}]\ncameras",
      },
      "warning elements_reordered /groups/0/elements",
    ],
  });
  rules(ARM, {
    "128 characters beyond the basic plane": [{ topology: `display_name: "${"🤖".repeat(128)}"\ntopology` }],
  });
});

describe("stage 3: every key by itself", () => {
  rules(ARM, {
    "a placeholder ends the check": [
      {
        "[-2, 2]": "[ TODO, 2]",
        "open: 1": "open: '<measure it>'",
        "cameras:": "x-todo: TODO\ncameras:",
        "kind: gripper": "kind: eef",
      },
      "placeholder /groups/0/limits/position/1/0",
      "placeholder /groups/1/aperture/open",
    ],
    "a placeholder ends the check of a draft": [
      { topology: "status: draft\ntopology", "unit: rad": 'unit: "tbd: ask"', single_arm: "bimanual" },
      "warning status_draft /status",
      "warning placeholder /groups/0/unit",
    ],
    "a draft is checked to its end": [
      { "topology: single_arm": "status: draft\ntopology: bimanual" },
      "warning status_draft /status",
      "topology_mismatch /topology",
    ],
    "an error in a draft is an error": [
      { "topology: single_arm": "status: draft\ntopology: tripod", "unit: rad": "unit: fixme" },
      "warning status_draft /status",
      "not_allowed /topology",
      "warning placeholder /groups/0/unit",
    ],
  });
  rules(PAIR, {
    "a name three times": [
      { left_gripper: "left_arm", right_arm: "left_arm" },
      "duplicate_name /groups/1/name",
      "duplicate_name /groups/2/name",
    ],
    "a role twice, on cameras with other errors": [
      {
        "left_wrist, mount: wrist": "right_wrist, mount: hand",
        "right_wrist, mount: wrist, width: 640": "right_wrist, mount: wrist",
      },
      "not_allowed /cameras/0/mount",
      "missing /cameras/1/width",
      "duplicate_name /cameras/1/role",
    ],
  });
  rules(SO101, {
    "no groups": [{ "cameras:": "groups: []\ncameras:" }, "list_length /groups"],
  });
  rules(DROID, {
    "members that every aperture, scale and camera has": [
      { configuration: "groups: [{name: arm, normalized: {}}, {aperture: {closed: 1}}]\nconfiguration" },
      "missing /groups/0/normalized/full_scale",
      "missing /groups/0/normalized/per",
      "missing /groups/1/name",
      "missing /groups/1/aperture/open",
    ],
  });
  rules(POINTER, {
    "invalid texts": [
      { topology: `display_name: ddd ${"d".repeat(125)}\ntopology`, tool0: '" \\t "' },
      "text_format /display_name",
      "text_format /groups/0/frame",
    ],
  });
  rules("robot_type_id: acme.arm.v1\ngroups:\nconfiguration_files: [/a]\n", {
    "key without a value → a custom type": [{}, "wrong_type /groups"],
  });
});

describe("stage 4: the type's id, and required keys", () => {
  rules(SO101, {
    "a vendor that only begins as one": [{ "acme.cell.v1": "ur10.cell.v1" }],
    "cameras of a base that leaves them to the installer": [
      { "cameras: [{role: front, mount: exterior, width: 640, height: 480, fps: 30}]\n": "" },
      "missing /cameras",
    ],
    "elements and unit only of known kinds": [
      {
        cameras:
          "groups: [{name: a}, {name: head, kind: head}, {name: g, kind: gripper}, {name: base, kind: base}]\ncameras",
      },
      "missing /groups/0/kind",
      "missing /groups/1/elements",
      "missing /groups/1/unit",
      "missing /groups/2/unit",
    ],
    "a group with a changed kind keeps the members of its base": [
      { cameras: "groups: [{name: gripper, kind: eef}]\ncameras" },
      "not_applicable /extends",
      "unit_kind /extends",
      "eef_frame_missing /groups/0/frame",
      "eef_rotation_missing /groups/0/rotation",
    ],
  });
  rules("extends: lerobot.so101-follower.v1\nconfiguration_files: [/a]\n", {
    "required keys of a robot that inherits nothing": [{}, "missing /robot_type_id"],
  });
});
