/** Each rule of the specification for custom types, one edit away from a manifest without a finding. */
import { describe, expect, test } from "vitest";

import { READY_CATALOG } from "../../../../src/manifest/catalog/ids.ts";
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

type Edit = readonly [from: string, to: string];

/** Findings as `id loc @word`, the word being what stands at their line and column; a warning in parentheses. */
async function findingsOf(text: string): Promise<readonly string[]> {
  const { findings, manifest } = await readManifest(Buffer.from(text), READY_CATALOG);
  if (findings.some(({ severity }) => severity === "error")) expect(manifest).toBeNull();
  const lines = text.split("\n");
  return findings.map(({ id, severity, loc, line, column }) => {
    const [word] = /^(?:[\w.-]+|.|$)/.exec((lines[line - 1] ?? "").slice(column - 1)) ?? [];
    const shown = `${id} ${loc} @${word}`;
    return severity === "error" ? shown : `(${shown})`;
  });
}

function edited(text: string, edits: readonly Edit[]): string {
  return edits.reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`${JSON.stringify(from)} is not in the manifest`);
    return before.replace(from, to);
  }, text);
}

/** What a manifest gives after some edits. */
type Case = readonly [title: string, text: string, expected: readonly string[], ...edits: Edit[]];

function run(cases: readonly Case[]): void {
  test.each(cases.map(([title, ...rest]) => ({ title, rest })))("readManifest: $title", async ({ rest }) => {
    const [text, expected, ...edits] = rest;
    expect(await findingsOf(edited(text, edits))).toEqual(expected);
  });
}

/** As many lines as are wanted, each with a name of its own. */
function repeated(line: string, count: number): string {
  return Array.from({ length: count }, (_, index) => line.replace("NAME", `n${index}`)).join("");
}

const LIMITS = "{position: [[-1, 1], [-2, 2]], velocity: 1}";
const FPS = "fps: 30";

describe("no findings", () => {
  run([
    ["arm", ARM, []],
    ["pair", PAIR, []],
    ["pointer", POINTER, []],
    ["rover", ROVER, []],
    ["extended", SO101, []],
    [
      "keys of one's own stand everywhere",
      ARM,
      [],
      ["{closed: 0", "{x-a: {b: [todo]}, closed: 0"],
      ["{position", "{x-: 0, position"],
      [FPS, "fps: 30, x-serial: ~"],
      ["kind: arm", "x-kind: leg\n    kind: arm"],
      ["[/etc/arm.yaml]", "[{path: /etc/arm.yaml, x-a: 1}]"],
    ],
    ["numbers in another notation", ARM, [], ["640", "6.4e2"], ["control_rate_hz: 20", "control_rate_hz: 2.0E+1"]],
    ["limits in another unit", ARM, [], [LIMITS, "{unit: deg, position: [[-57, 57], [-114, 114]], velocity: 60}"]],
    ["a name with left and right says neither", ARM, [], ["name: arm", "name: left_right_arm\n    side: right"]],
    ["left inside a word says nothing", ARM, [], ["name: arm", "name: cleft_arm\n    side: right"]],
    ["just under two turns", ARM, [], ["[-1, 1]", "[-12.5, 12.5]"]],
    [
      "velocity and effort of joints with a dimension",
      ARM,
      [],
      ["zero: urdf", "zero: urdf\n    state: [effort, velocity]"],
    ],
    ["128 characters beyond the basic plane", ARM, [], ["topology", `display_name: "${"🤖".repeat(128)}"\ntopology`]],
    ["a wrist camera of a one-sided robot", ARM, [], ["role: front, mount: exterior", "role: hand, mount: wrist"]],
    ["speeds of a gripper are not judged", ARM, [], ["open: 1}", "open: 1}, limits: {velocity: [4000]}"]],
    [
      "an arm beside the eef that acts",
      POINTER,
      [],
      ["cameras", "  - {name: arm, kind: arm, elements: [a], unit: rad, zero: urdf}\ncameras"],
    ],
    [
      "a reordered group with its limits",
      SO101,
      ["(elements_reordered /groups/0/elements @[)"],
      [
        "cameras",
        "groups: [{name: arm, elements: [wrist_roll, shoulder_pan, shoulder_lift, elbow_flex, wrist_flex]}]\ncameras",
      ],
    ],
    [
      "a group of one's own stands last",
      SO101,
      [],
      ["cameras", "groups: [{name: head, kind: head, elements: [pan], unit: calibrated_range}]\ncameras"],
    ],
    ["a fast speed where it is allowed", ARM, [], ["velocity: 1", "velocity: [50, 50]"]],
    [
      "full scale for each element",
      POINTER,
      [],
      ["{velocity: [1, 1, 1, 2, 2, 2]}", "{}\n    normalized: {per: step, full_scale: [0.1, 0.1, 0.1, 0.2, 0.2, 0.2]}"],
    ],
    [
      "one full scale for all elements of an eef",
      POINTER,
      [],
      ["{velocity: [1, 1, 1, 2, 2, 2]}", "{}\n    normalized: {per: second, full_scale: 0.1}"],
    ],
    [
      "fingers in another order than the alphabet's",
      ROVER,
      [],
      ["[thumb, index, pinky_1]", "[thumb_1, index_1, index_0]"],
    ],
    ["fingers with one stem", ROVER, [], ["[thumb, index, pinky_1]", "[f3, f_1, f_2]"]],
  ]);
});

describe("stage 3: every key by itself", () => {
  run([
    ["a fraction is no integer, whatever its size", ARM, ["wrong_type /cameras/0/width @20.5"], ["640", "20.5"]],
    ["an empty value is at its key", ARM, ["wrong_type /groups/0/unit @unit"], ["unit: rad", "unit:"]],
    ["an empty item is at its list", ARM, ["wrong_type /groups/0/elements/0 @-"], ["[a, b]", "\n      -\n      - b"]],
    [
      "every mapping knows its keys",
      ARM,
      [
        "unknown_key /groups/0/limit @limit",
        "unknown_key /groups/0/limits/effort @effort",
        "unknown_key /groups/1/aperture/opened @opened",
        "unknown_key /cameras/0/Fps @Fps",
      ],
      ["name: arm", "limit: 1\n    name: arm"],
      ["{position", "{effort: 1, position"],
      ["closed: 0", "opened: 1, closed: 0"],
      ["{role", "{Fps: 1, role"],
    ],
    [
      "a body key without a value makes it custom",
      "robot_type_id: acme.arm.v1\ngroups:\nconfiguration_files: [/a]\n",
      ["wrong_type /groups @groups"],
    ],
    [
      "values of another type",
      ARM,
      [
        "wrong_type /groups/0/elements @a",
        "wrong_type /groups/0/limits/position/1 @2",
        "wrong_type /groups/0/limits/velocity @fast",
        "wrong_type /groups/1 @none",
        "wrong_type /cameras @{",
      ],
      ["[a, b]", "a"],
      ["[-2, 2]", "2"],
      ["velocity: 1", "velocity: fast"],
      ["{name: gripper, kind: gripper, unit: ratio, aperture: {closed: 0, open: 1}}", "none"],
      ["cameras:\n  - {", "cameras: {"],
    ],
    [
      "lists that are too short or too long",
      ARM,
      ["list_length /groups/0/elements @[", "list_length /groups/0/limits/position/0 @[", "list_length /cameras @["],
      ["[a, b]", "[]"],
      ["[-1, 1]", "[-1, 1, 2]"],
      ["\n  - {role: front, mount: exterior, width: 640, height: 480, fps: 30}", " []"],
    ],
    ["33 groups", ARM, ["list_length /groups @-"], ["cameras:", `${repeated("  - {name: NAME}\n", 31)}cameras:`]],
    ["no groups", SO101, ["list_length /groups @["], ["cameras:", "groups: []\ncameras:"]],
    ["65 elements", ARM, ["list_length /groups/0/elements @["], ["[a, b]", `[a${repeated(", NAME", 64)}]`]],
    [
      "9 cameras",
      ARM,
      ["list_length /cameras @-"],
      [
        "configuration_files",
        `${repeated("  - {role: NAME, mount: head, width: 32, height: 32, fps: 30}\n", 8)}configuration_files`,
      ],
    ],
    [
      "a quantity twice",
      ARM,
      ["duplicate_name /groups/0/state/2 @position"],
      ["zero: urdf", "zero: urdf\n    state: [position, effort, position]"],
    ],
    [
      "duplicates are looked for among values without error",
      ARM,
      [
        "name_format /groups/0/elements/0 @A",
        "name_format /groups/0/elements/1 @A",
        "duplicate_name /groups/0/elements/4 @a",
      ],
      ["[a, b]", "[A, A, a, b, a]"],
    ],
    [
      "a name three times",
      PAIR,
      ["duplicate_name /groups/1/name @left_arm", "duplicate_name /groups/2/name @left_arm"],
      ["left_gripper", "left_arm"],
      ["right_arm", "left_arm"],
    ],
    [
      "values that are not listed",
      ARM,
      [
        "not_allowed /topology @Single_arm",
        "not_allowed /groups/0/kind @joint",
        "not_allowed /groups/0/zero @URDF",
        "not_allowed /cameras/0/rotation_degrees @45",
        "not_allowed /cameras/0/color_space @bgr",
        "not_allowed /cameras/0/pixel_dtype @float",
      ],
      ["single_arm", "Single_arm"],
      ["kind: arm", "kind: joint"],
      ["urdf", "URDF"],
      [FPS, "fps: 30, rotation_degrees: 45, color_space: bgr, pixel_dtype: float"],
    ],
    [
      "numbers that JSON would not write",
      ARM,
      [
        "number_format /control_rate_hz @+",
        "number_format /groups/0/limits/position/0/0 @-.5",
        "number_format /groups/0/limits/position/0/1 @1.",
        "number_format /groups/0/limits/velocity @0x1",
        "wrong_type /cameras/0/width @1_000",
        "wrong_type /cameras/0/height @0b11",
      ],
      ["control_rate_hz: 20", "control_rate_hz: +20"],
      ["[-1, 1]", "[-.5, 1.]"],
      ["velocity: 1", "velocity: 0x1"],
      ["640", "1_000"],
      ["480", "0b11"],
    ],
    [
      "numbers that are none, or beyond every double",
      ARM,
      [
        "not_finite /control_rate_hz @1e999",
        "not_finite /groups/0/limits/velocity @-.INF",
        "not_finite /groups/1/aperture/closed @.NaN",
      ],
      ["control_rate_hz: 20", "control_rate_hz: 1e999"],
      ["velocity: 1", "velocity: -.INF"],
      ["closed: 0", "closed: .NaN"],
    ],
    [
      "numbers beyond their bounds",
      ARM,
      [
        "out_of_range /control_rate_hz @1000.1",
        "out_of_range /groups/0/limits/position/0/1 @1000001",
        "out_of_range /groups/0/limits/velocity/0 @0",
        "out_of_range /groups/1/aperture/open @-1e7",
        "out_of_range /cameras/0/width @31",
        "out_of_range /cameras/0/height @4097",
        "out_of_range /cameras/0/fps @240.5",
      ],
      ["control_rate_hz: 20", "control_rate_hz: 1000.1"],
      ["[-1, 1]", "[-1, 1000001]"],
      ["velocity: 1", "velocity: [0, 1]"],
      ["open: 1", "open: -1e7"],
      ["640", "31"],
      ["480", "4097"],
      [FPS, "fps: 240.5"],
    ],
    [
      "a secret is neither unknown nor a placeholder, and is not looked into",
      ARM,
      [
        "secret_in_manifest /groups/0/Api.Key @Api.Key",
        "secret_in_manifest /cameras/0/x-note/1/accessToken @accessToken",
        'secret_in_manifest /cameras/0/role @"',
      ],
      ["kind: arm", "Api.Key: {password: 1}\n    kind: arm"],
      ["role: front", 'x-note: [1, {accessToken: ""}], role: "<sk_live_0123456789abcdef>"'],
    ],
    [
      "a secret below a value of another type, and below an unknown key",
      ARM,
      [
        "wrong_type /groups/0/kind @[",
        "secret_in_manifest /groups/0/kind/0 @sk_a_0123456789abcdef",
        "unknown_key /groups/1/notes @notes",
        "secret_in_manifest /groups/1/notes/a @sk_a_0123456789abcdef",
      ],
      ["kind: arm", "kind: [sk_a_0123456789abcdef]"],
      ["{name: gripper", "{notes: {a: sk_a_0123456789abcdef}, name: gripper"],
    ],
    [
      "a placeholder ends the check",
      ARM,
      ["placeholder /groups/0/limits/position/1/0 @TODO", "placeholder /groups/1/aperture/open @'"],
      ["[-2, 2]", "[ TODO, 2]"],
      ["open: 1", "open: '<measure it>'"],
      ["cameras:", "x-todo: TODO\ncameras:"],
      ["kind: gripper", "kind: eef"],
    ],
    [
      "a placeholder ends the check of a draft",
      ARM,
      ["(status_draft /status @draft)", '(placeholder /groups/0/unit @")'],
      ["topology", "status: draft\ntopology"],
      ["unit: rad", 'unit: "tbd: ask"'],
      ["single_arm", "bimanual"],
    ],
    [
      "a draft is checked to its end",
      ARM,
      ["(status_draft /status @draft)", "topology_mismatch /topology @bimanual"],
      ["topology: single_arm", "status: draft\ntopology: bimanual"],
    ],
    [
      "an error in a draft is an error",
      ARM,
      ["(status_draft /status @draft)", "not_allowed /topology @tripod", "(placeholder /groups/0/unit @fixme)"],
      ["topology: single_arm", "status: draft\ntopology: tripod"],
      ["unit: rad", "unit: fixme"],
    ],
    [
      "texts that are none",
      POINTER,
      ["text_format /display_name @ddd", 'text_format /groups/0/frame @"'],
      ["topology", `display_name: ddd ${"d".repeat(125)}\ntopology`],
      ["tool0", '" \\t "'],
    ],
    [
      "members that every aperture, scale and camera has",
      DROID,
      [
        "missing /groups/0/normalized/full_scale @{",
        "missing /groups/0/normalized/per @{",
        "missing /groups/1/name @{",
        "missing /groups/1/aperture/open @{",
      ],
      ["configuration", "groups: [{name: arm, normalized: {}}, {aperture: {closed: 1}}]\nconfiguration"],
    ],
    [
      "a base that nobody knows",
      SO101,
      ["extends_unknown /extends @lerobot.so100-follower.v1"],
      ["lerobot.so101", "lerobot.so100"],
    ],
  ]);
});

describe("stage 4: the type's id, and required keys", () => {
  run([
    [
      "a catalog id is not also reserved",
      SO101,
      ["catalog_type_redefined /robot_type_id @lerobot.so101-follower.v1"],
      ["acme.cell.v1", "lerobot.so101-follower.v1"],
    ],
    ["a vendor of the catalog", SO101, ["type_id_reserved /robot_type_id @ur.cell.v1"], ["acme.cell.v1", "ur.cell.v1"]],
    ["a vendor that only begins as one", SO101, [], ["acme.cell.v1", "ur10.cell.v1"]],
    [
      "cameras of a base that leaves them to the installer",
      SO101,
      ["missing /cameras @robot_type_id"],
      ["cameras: [{role: front, mount: exterior, width: 640, height: 480, fps: 30}]\n", ""],
    ],
    ["cameras of a base that has them", ALOHA, []],
    [
      "elements and unit only of known kinds",
      SO101,
      [
        "missing /groups/0/kind @{",
        "missing /groups/1/elements @{",
        "missing /groups/1/unit @{",
        "missing /groups/2/unit @{",
      ],
      [
        "cameras",
        "groups: [{name: a}, {name: head, kind: head}, {name: g, kind: gripper}, {name: base, kind: base}]\ncameras",
      ],
    ],
    [
      "required keys of a robot that is all its own",
      "extends: lerobot.so101-follower.v1\nconfiguration_files: [/a]\n",
      ["missing /robot_type_id @extends"],
    ],
    [
      "a group that became of another kind keeps what the base says",
      SO101,
      [
        "not_applicable /extends @lerobot.so101-follower.v1",
        "eef_frame_missing /groups/0/frame @{",
        "eef_rotation_missing /groups/0/rotation @{",
        "unit_kind /groups/0/unit @rad",
      ],
      ["cameras", "groups: [{name: gripper, kind: eef, unit: rad}]\ncameras"],
    ],
  ]);
});

describe("stage 5: each group and camera by itself", () => {
  run([
    [
      "keys of other kinds",
      POINTER,
      [
        "not_applicable /groups/0/elements @[",
        "not_applicable /groups/0/zero @urdf",
        "not_applicable /groups/0/aperture @{",
      ],
      ["kind: eef", "kind: eef\n    elements: [x]\n    zero: urdf\n    aperture: {closed: 0, open: 1}"],
    ],
    [
      "zero of a unit without dimension",
      ARM,
      ["not_applicable /groups/0/zero @urdf"],
      ["unit: rad", "unit: calibrated_range"],
    ],
    [
      "zero is not judged where the unit is not one of the kind",
      ARM,
      ["unit_kind /groups/0/unit @percent"],
      ["unit: rad", "unit: percent"],
    ],
    [
      "normalized of a position, and of what is not commanded",
      PAIR,
      ["not_applicable /groups/0/normalized @{", "not_applicable /groups/1/normalized @{"],
      ["name: left_arm", "normalized: {full_scale: 1, per: step}, name: left_arm"],
      ["name: left_gripper", "action: none, normalized: {full_scale: 1, per: step}, name: left_gripper"],
    ],
    [
      "limits of a gripper and a base",
      ROVER,
      ["not_applicable /groups/0/limits/unit @m", "not_applicable /groups/0/limits/position @["],
      ["{velocity: [90, 1]}", "{velocity: [90, 1], unit: m, position: [[0, 1]]}"],
    ],
    [
      "side of a camera that is on no wrist",
      PAIR,
      ["not_applicable /cameras/0/side @none"],
      ["left_wrist, mount: wrist", "left_wrist, mount: head, side: none"],
    ],
    [
      "side of a camera against its role",
      PAIR,
      ["side_conflict /cameras/1/side @none"],
      ["right_wrist, mount: wrist", "right_wrist, mount: wrist, side: none"],
    ],
    [
      "limits in the unit of another dimension",
      ROVER,
      ["unit_unconvertible /groups/1/limits/unit @deg"],
      ["unit: mm}}", "unit: deg}}"],
    ],
    [
      "limits of a hand in another unit without dimension",
      ROVER,
      [],
      ["unit: percent", "unit: percent, limits: {unit: ratio, position: [[0, 1], [0, 1], [0.5, 1]]}"],
    ],
    [
      "speed and effort without dimension, each at its place",
      ROVER,
      [
        "unit_unconvertible /groups/3/state/0 @velocity",
        "unit_unconvertible /groups/3/state/1 @effort",
        "unit_unconvertible /groups/3/action @velocity",
      ],
      ["unit: percent", "unit: percent, state: [velocity, effort], action: velocity"],
    ],
    [
      "a speed by default, without dimension",
      ROVER,
      ["unit_unconvertible /groups/2/action @{"],
      ["joint_position", "joint_velocity"],
    ],
    [
      "quantities of other kinds",
      ROVER,
      ["quantity_kind /groups/0/state/0 @position", "quantity_kind /groups/0/action @position"],
      ["name: base", "state: [position], action: position, name: base"],
    ],
    [
      "deltas of joints and speeds of grippers",
      ARM,
      ["quantity_kind /groups/0/action @delta", "quantity_kind /groups/1/action @velocity"],
      ["zero: urdf", "zero: urdf\n    action: delta"],
      ["{name: gripper", "{action: velocity, name: gripper"],
    ],
    [
      "a delta that cannot be added",
      POINTER,
      ["quantity_kind /groups/0/action @delta", "limits_length /groups/0/limits/velocity @["],
      ["rotation: rotvec", "rotation: rot6d\n    action: delta"],
    ],
    [
      "elements that a base does not have",
      ROVER,
      ["element_kind /groups/0/elements/0 @yaw"],
      ["[theta, x]", "[yaw, x]"],
    ],
    [
      "what only the base has is at extends",
      "robot_type_id: acme.cell.v1\nextends: bridge.widowx-250.v1\naction_semantics: joint_velocity\ncontrol_rate_hz: 5\nconfiguration_files: [/a]\ncameras: [{role: a, mount: head, width: 32, height: 32, fps: 5}]\n",
      ["action_semantics_mismatch /action_semantics @joint_velocity"],
    ],
    [
      "a scale that the base contributed and an action of one's own",
      DROID,
      ["not_applicable /extends @droid.franka-panda.v1"],
      ["configuration", "action_semantics: joint_position\nconfiguration"],
    ],
    [
      "counts of inherited limits after other elements",
      SO101,
      ["limits_length /extends @lerobot.so101-follower.v1"],
      ["cameras", "groups: [{name: arm, elements: [a, b]}]\ncameras"],
    ],
    [
      "counts of speeds and scales",
      DROID,
      [
        "limits_length /groups/0/limits/position @[",
        "limits_length /groups/0/limits/velocity @[",
        "limits_length /groups/0/normalized/full_scale @[",
      ],
      [
        "configuration",
        "groups: [{name: arm, limits: {position: [], velocity: []}, normalized: {full_scale: [1], per: step}}]\nconfiguration",
      ],
    ],
    [
      "one speed where it would mix units, even for one element",
      ROVER,
      ["limits_length /groups/0/limits/velocity @1"],
      ["[theta, x]", "[x]"],
      ["[90, 1]", "1"],
    ],
    [
      "a workspace has three pairs; the parts of a quaternion have no speed",
      POINTER,
      ["limits_length /groups/0/limits/velocity @["],
      ["eef_delta", "eef_absolute"],
      ["rotvec", "quat_xyzw"],
      ["{velocity", "{position: [[0, 1], [0, 1], [0, 1]], velocity"],
    ],
    [
      "elements of an eef are not counted before its rotation is known",
      POINTER,
      ["eef_rotation_missing /groups/0/rotation @name"],
      ["    rotation: rotvec\n", ""],
      ["[1, 1, 1, 2, 2, 2]", "[1]"],
      ["{velocity", "{position: [], velocity"],
    ],
    [
      "side against the name",
      PAIR,
      ["side_conflict /groups/0/side @right", "side_conflict /groups/3/side @none"],
      ["name: left_arm", "side: right, name: left_arm"],
      ["name: right_gripper", "side: none, name: right_gripper"],
    ],
    ["what a torso in metres must say", ROVER, ["zero_missing /groups/1/zero @{"], [" zero: driver,", ""]],
  ]);
});

describe("stage 6: values, and the robot as a whole", () => {
  run([
    [
      "an aperture that does not open",
      ARM,
      ["aperture_degenerate /groups/1/aperture @{"],
      ["closed: 0, open: 1", "closed: -0, open: 0"],
    ],
    [
      "limits inverted and beyond the unit, at one pair",
      ROVER,
      ["limits_exceed_unit /groups/3/limits/position/0 @[", "limits_inverted /groups/3/limits/position/0 @["],
      ["unit: percent", "unit: percent, limits: {position: [[120, 5], [0, 100], [0, 1]]}"],
    ],
    [
      "limits beyond their own unit",
      ROVER,
      ["limits_exceed_unit /groups/2/limits/position/0 @["],
      ["calibrated_range", "calibrated_range, limits: {unit: ratio, position: [[-0.5, 1]]}"],
    ],
    ["limits that are equal", ARM, ["limits_inverted /groups/0/limits/position/1 @["], ["[-2, 2]", "[2, 2]"]],
    [
      "limits that 12 digits cannot tell apart",
      ARM,
      ["limits_inverted /groups/0/limits/position/1 @["],
      ["[-2, 2]", "[2, 2.0000000000001]"],
    ],
    [
      "a missing limit is where limits are written",
      ARM,
      ["limits_missing /groups/0/limits/position @velocity"],
      ["{position: [[-1, 1], [-2, 2]], velocity: 1}", "\n      velocity: 1"],
    ],
    [
      "a missing limit where none are written",
      ARM,
      ["limits_missing /groups/0/limits/position @name"],
      [`    limits: ${LIMITS}\n`, ""],
    ],
    [
      "a base and an eef need speeds",
      ROVER,
      ["limits_missing /groups/0/limits/velocity @{"],
      [", limits: {velocity: [90, 1]}", ""],
    ],
    [
      "an end effector by position needs a workspace, its rotation does not",
      POINTER,
      [],
      ["eef_delta", "eef_absolute"],
      ["{velocity: [1, 1, 1, 2, 2, 2]}", "{position: [[0, 1], [0, 1], [0, 1]]}"],
    ],
    [
      "degrees by the look of them",
      ARM,
      ["limits_look_like_degrees /groups/0/limits/position @["],
      ["[-2, 2]", "[-2, 12.6]"],
    ],
    [
      "limits in deg that are labelled rad",
      ROVER,
      ["limits_look_like_degrees /groups/2/limits/position @["],
      ["unit: calibrated_range", "unit: deg, zero: urdf, limits: {unit: rad, position: [[-90, 90]]}"],
    ],
    [
      "radians by the look of them",
      PAIR,
      ["(limits_look_like_radians /groups/0/limits/position @[)"],
      ["[[-90, 90], [-120, 10]]", "[[-6.28, 1], [0, 1]]"],
    ],
    [
      "speeds beyond belief, each at its place",
      POINTER,
      ["velocity_limit /groups/0/limits/velocity/1 @11", "velocity_limit /groups/0/limits/velocity/5 @2900"],
      ["rotvec", "rotvec\n    angle_unit: deg"],
      ["[1, 1, 1, 2, 2, 2]", "[10, 11, 1, 2, 2800, 2900]"],
    ],
    [
      "one speed beyond belief is one mistake",
      ARM,
      ["velocity_limit /groups/0/limits/velocity @50.1"],
      ["velocity: 1", "velocity: 50.1"],
    ],
    [
      "wider than the base, in other units",
      SO101,
      ["(limits_wider_than_base /groups/0/limits @{)"],
      [
        "cameras",
        "groups: [{name: arm, limits: {unit: rad, position: [[-1.92, 1.92], [-1, 1], [-1, 1], [-1, 1], [-1, 1]]}}]\ncameras",
      ],
    ],
    [
      "narrower than the base",
      SO101,
      [],
      [
        "cameras",
        "groups: [{name: arm, limits: {unit: rad, position: [[-1.9, 1.9], [-1, 1], [-1, 1], [-1, 1], [-1, 1]]}}]\ncameras",
      ],
    ],
    [
      "wider than the base cannot be said of other elements",
      SO101,
      [],
      ["cameras", "groups: [{name: arm, elements: [a], limits: {position: [[-179, 179]]}}]\ncameras"],
    ],
    [
      "a full scale beyond the limit, per second",
      POINTER,
      ["(full_scale_over_limit /groups/0/normalized @{)"],
      ["[1, 1, 1, 2, 2, 2]}", "[1, 1, 1, 2, 2, 2]}\n    normalized: {full_scale: [1, 1, 1, 2, 2, 2.1], per: second}"],
    ],
    [
      "a full scale at the limit, per step",
      POINTER,
      [],
      [
        "[1, 1, 1, 2, 2, 2]}",
        "[1, 1, 1, 2, 2, 2]}\n    normalized: {full_scale: [0.2, 0.2, 0.2, 0.4, 0.4, 0.4], per: step}",
      ],
    ],
    [
      "a full scale against a limit in another unit",
      ARM,
      ["(full_scale_over_limit /groups/0/normalized @{)"],
      ["joint_position", "joint_velocity"],
      [`limits: ${LIMITS}`, "limits: {unit: deg, velocity: [57, 58]}\n    normalized: {full_scale: 1, per: second}"],
    ],
    [
      "a base where none may be",
      ROVER,
      ["topology_mismatch /topology @single_arm"],
      ["mobile_manipulator", "single_arm"],
    ],
    [
      "no base where one must be",
      ARM,
      ["topology_mismatch /topology @mobile_manipulator"],
      ["single_arm", "mobile_manipulator"],
    ],
    [
      "two hands make no second arm",
      ARM,
      ["topology_mismatch /topology @bimanual"],
      ["single_arm", "bimanual"],
      ["name: arm", "name: left_arm"],
      ["cameras", "  - {name: right_hand, kind: hand, elements: [a], unit: ratio}\ncameras"],
    ],
    [
      "two of a kind without sides",
      ROVER,
      ["side_missing /groups/2/side @{", "side_missing /groups/4/side @{"],
      ["cameras", "  - {name: second_arm, kind: arm, elements: [j1], unit: calibrated_range}\ncameras"],
    ],
    [
      "two heads need no side",
      ROVER,
      [],
      [
        "cameras",
        "  - {name: h1, kind: head, elements: [a], unit: calibrated_range}\n  - {name: h2, kind: head, elements: [a], unit: calibrated_range}\ncameras",
      ],
    ],
    [
      "side none is none where one is needed",
      PAIR,
      ["side_missing /cameras/0/side @none"],
      ["role: left_wrist, mount: wrist", "role: wrist, mount: wrist, side: none"],
    ],
    [
      "a limb that acts otherwise",
      POINTER,
      ["action_semantics_mismatch /groups/1/action @position"],
      ["cameras", "  - {name: arm, kind: arm, action: position, elements: [a], unit: calibrated_range}\ncameras"],
    ],
    [
      "an action that the base does not say, under semantics of one's own",
      SO101,
      [],
      ["cameras", "action_semantics: joint_velocity\ncameras"],
    ],
    [
      "a gripper that is none, and none that is one",
      ARM,
      ["gripper_mismatch /gripper @binary"],
      ["topology", "gripper: binary\ntopology"],
      ["{name: gripper", "{action: none, name: gripper"],
    ],
    [
      "a gripper of the base that is not commanded any more",
      DROID,
      ["(full_scale_over_limit /extends @droid.franka-panda.v1)", "gripper_mismatch /extends @droid.franka-panda.v1"],
      ["configuration", "groups: [{name: gripper, action: none}]\nconfiguration"],
    ],
    [
      "nothing to observe or to command",
      ARM,
      ["action_semantics_mismatch /action_semantics @joint_position", "axis_count /groups @-", "axis_count /groups @-"],
      ["unit: rad", "unit: rad\n    state: []\n    action: none"],
      ["{name: gripper, kind: gripper", "{action: none, state: [], name: gripper, kind: gripper"],
    ],
    [
      "more than 256 axes",
      ROVER,
      ["axis_count /groups @-"],
      [
        "cameras",
        `${repeated(`  - {name: NAME, kind: head, unit: calibrated_range, action: none, elements: [e${repeated(", NAME", 63)}]}\n`, 4)}cameras`,
      ],
    ],
    [
      "axes of the base alone are at extends",
      SO101,
      ["axis_count /groups @["],
      [
        "cameras",
        `groups: [${repeated(`{name: NAME, kind: head, unit: calibrated_range, action: none, elements: [e${repeated(", NAME", 63)}]}, `, 4)}]\ncameras`,
      ],
    ],
    [
      "cameras of the base, slower than the rate",
      ALOHA,
      [
        "(camera_slow /extends @trossen.aloha-bimanual.v1)",
        "(camera_slow /extends @trossen.aloha-bimanual.v1)",
        "(camera_slow /extends @trossen.aloha-bimanual.v1)",
        "(camera_slow /extends @trossen.aloha-bimanual.v1)",
      ],
      ["configuration", "control_rate_hz: 60\nconfiguration"],
    ],
    [
      "right before left, whatever the kinds",
      ROVER,
      ["(right_first /groups/1/name @right_lift)"],
      ["name: lift", "name: right_lift"],
      ["name: hand", "name: left_hand"],
      [", side: none", ""],
    ],
    [
      "sorted fingers",
      ROVER,
      ["(hand_sorted /groups/3/elements @[)"],
      ["[thumb, index, pinky_1]", "[index, pinky_0, thumb]"],
    ],
    [
      "numbers so small that others are too large",
      ARM,
      ["not_finite /groups @-"],
      ["control_rate_hz: 20", "control_rate_hz: 1e-320"],
    ],
    ["a speed of next to nothing", ARM, ["not_finite /groups @-"], ["velocity: 1", "velocity: 5e-324"]],
    ["an aperture of next to nothing", ARM, ["not_finite /groups @-"], ["open: 1", "open: 1e-320"]],
  ]);
});
