/** Stages 3 to 6 of the specification for custom types, beyond the golden vectors: manifests without findings, each with a few edits. */
import { describe, expect, test } from "vitest";

import { readManifest } from "../../../../src/manifest/manifest.ts";

const ARM = `robot_type_id: acme.arm.v1
topology: single_arm
action_semantics: joint_position
control_rate_hz: 20
groups:
  - name: arm
    kind: arm
    elements: [a, b]
    unit: rad
    zero: urdf
    limits: {position: [[-1, 1], [-2, 2]], velocity: 1}
  - {name: gripper, kind: gripper, unit: ratio, aperture: {closed: 0, open: 1}}
cameras:
  - {role: front, mount: exterior, width: 640, height: 480, fps: 30}
configuration_files: [/etc/arm.yaml]
`;

const PAIR = `robot_type_id: acme.pair.v1
topology: bimanual
action_semantics: joint_position
control_rate_hz: 30
groups:
  - {name: left_arm, kind: arm, elements: [j1, j2], unit: deg, zero: driver, limits: {position: [[-90, 90], [-120, 10]]}}
  - {name: left_gripper, kind: gripper, unit: mm, aperture: {closed: 0, open: 80}}
  - {name: right_arm, kind: arm, elements: [j1, j2], unit: deg, zero: driver, limits: {position: [[-90, 90], [-120, 10]]}}
  - {name: right_gripper, kind: gripper, unit: mm, aperture: {closed: 0, open: 80}}
cameras:
  - {role: left_wrist, mount: wrist, width: 640, height: 480, fps: 30}
  - {role: right_wrist, mount: wrist, width: 640, height: 480, fps: 30}
configuration_files: [/etc/pair.yaml]
`;

const POINTER = `robot_type_id: acme.pointer.v1
topology: single_arm
action_semantics: eef_delta
control_rate_hz: 5
groups:
  - name: eef
    kind: eef
    frame: tool0
    rotation: rotvec
    limits: {velocity: [1, 1, 1, 2, 2, 2]}
cameras: [{role: front, mount: exterior, width: 320, height: 240, fps: 15}]
configuration_files: [/etc/pointer.yaml]
`;

const ROVER = `robot_type_id: acme.rover.v1
topology: mobile_manipulator
action_semantics: joint_position
control_rate_hz: 10
groups:
  - {name: base, kind: base, elements: [theta, x], angle_unit: deg, limits: {velocity: [90, 1]}}
  - {name: lift, kind: torso, elements: [z], unit: mm, zero: driver, limits: {position: [[0, 900]], unit: mm}}
  - {name: arm, kind: arm, elements: [j1], unit: calibrated_range}
  - {name: hand, kind: hand, elements: [thumb, index, pinky_1], unit: percent, side: none}
cameras: [{role: front, mount: head, width: 320, height: 240, fps: 15}]
configuration_files: [/etc/rover.yaml]
`;

const SO101 = `robot_type_id: acme.cell.v1
extends: lerobot.so101-follower.v1
cameras: [{role: front, mount: exterior, width: 640, height: 480, fps: 30}]
configuration_files: [/etc/cell.json]
`;

const DROID = `robot_type_id: acme.cell.v1
extends: droid.franka-panda.v1
configuration_files: [/etc/cell.json]
`;

const ALOHA = `robot_type_id: acme.cell.v1
extends: trossen.aloha-bimanual.v1
configuration_files: [/etc/cell.json]
`;

/** Edits of a manifest, from a text that it has to another, and the findings that they cause: `id loc`, warnings with `warning` before it. */
type Rule = readonly [edits: Readonly<Record<string, string>>, ...findings: string[]];

/** One test for each rule, by its title. */
function rules(manifest: string, table: Readonly<Record<string, Rule>>): void {
  test.each(Object.entries(table))("readManifest: %s", async (_title, [edits, ...expected]) => {
    const text = Object.entries(edits).reduce((before, [from, to]) => {
      expect(before).toContain(from);
      return before.replace(from, to);
    }, manifest);
    const read = await readManifest(Buffer.from(text));
    const findings = read.findings.map(
      ({ id, severity, loc }) => `${severity === "error" ? "" : "warning "}${id} ${loc}`,
    );
    expect(findings).toEqual(expected);
    if (read.findings.some(({ severity }) => severity === "error")) expect(read.value).toBeNull();
  });
}

/** This many lines, each with its own name. */
function repeated(line: string, count: number): string {
  return Array.from({ length: count }, (_, index) => line.replace("NAME", `n${index}`)).join("");
}

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
    "a name with left and right has no side": [{ "name: arm": "name: left_right_arm\n    side: right" }],
    "left inside a word is no side": [{ "name: arm": "name: cleft_arm\n    side: right" }],
    "a gripper's velocity is not checked": [{ "open: 1}": "open: 1}, limits: {velocity: [4000]}" }],
    "a high velocity where it is allowed": [{ "velocity: 1": "velocity: [50, 50]" }],
  });
  rules(POINTER, {
    "an arm beside the eef that acts": [
      { cameras: "  - {name: arm, kind: arm, elements: [a], unit: rad, zero: urdf}\ncameras" },
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
  rules("robot_type_id: acme.arm.v1\ngroups:\nconfiguration_files: [/a]\n", {
    "key without a value → a custom type": [{}, "wrong_type /groups"],
  });
});

describe("stage 4: the type's id, and required keys", () => {
  rules(SO101, {
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

describe("stage 5: each group and camera by itself", () => {
  rules(ARM, {
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
  });
  rules(POINTER, {
    "a rotation that is not there is relative to nothing": [
      {
        "rotation: rotvec": "rotation: none\n    rotation_frame: tool pointing down",
        "[1, 1, 1, 2, 2, 2]": "[1, 1, 1]",
      },
      "not_applicable /groups/0/rotation_frame",
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
});

test("readManifest: limits in the unit of another dimension → says from which to which unit", async () => {
  const { findings } = await readManifest(Buffer.from(ROVER.replace("unit: mm}}", "unit: deg}}")));
  expect(findings.map(({ message }) => message)).toEqual(["deg cannot be converted to mm"]);
});

const RAIL =
  "  - {name: rail, kind: arm, side: none, elements: [x], unit: m, zero: driver, limits: {position: [[0, 1]]}}\n";

describe("stage 6: values, and the robot as a whole", () => {
  rules(ARM, {
    "limits that 12 digits cannot tell apart": [
      { "[-2, 2]": "[2, 2.0000000000001]" },
      "limits_inverted /groups/0/limits/position/1",
    ],
    "a missing limit is where limits are written": [
      { "{position: [[-1, 1], [-2, 2]], velocity: 1}": "\n      velocity: 1" },
      "limits_missing /groups/0/limits/position",
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
    "an aperture close to zero": [{ "open: 1": "open: 1e-320" }, "not_finite /groups"],
  });
  rules(PAIR, {
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
    "a base and an eef need speeds": [
      { ", limits: {velocity: [90, 1]}": "" },
      "limits_missing /groups/0/limits/velocity",
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
