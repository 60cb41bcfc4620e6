/** The first stages of the specification for custom types: each key by itself, ids and required keys. */
import { describe } from "vitest";

import { ARM, POINTER, readCases, repeated, run } from "./rule-cases.ts";

describe("no findings", () => {
  run(
    readCases(String.raw`
ARM: arm
PAIR: pair
POINTER: pointer
ROVER: rover
SO101: extended
ARM: keys of one's own stand everywhere
  {closed: 0 → {x-a: {b: [todo]}, closed: 0
  {position → {x-: 0, position
  fps: 30 → fps: 30, x-serial: ~
  kind: arm → x-kind: leg\n    kind: arm
  [/etc/arm.yaml] → [{path: /etc/arm.yaml, x-a: 1}]
ARM: numbers in another notation
  640 → 6.4e2
  control_rate_hz: 20 → control_rate_hz: 2.0E+1
ARM: limits in another unit
  {position: [[-1, 1], [-2, 2]], velocity: 1} → {unit: deg, position: [[-57, 57], [-114, 114]], velocity: 60}
ARM: a name with left and right has no side
  name: arm → name: left_right_arm\n    side: right
ARM: left inside a word is no side
  name: arm → name: cleft_arm\n    side: right
ARM: just under two turns
  [-1, 1] → [-12.5, 12.5]
ARM: velocity and effort of joints with a dimension
  zero: urdf → zero: urdf\n    state: [effort, velocity]
ARM: a wrist camera of a one-sided robot
  role: front, mount: exterior → role: hand, mount: wrist
ARM: a gripper's velocity is not checked
  open: 1} → open: 1}, limits: {velocity: [4000]}
POINTER: an arm beside the eef that acts
  cameras →   - {name: arm, kind: arm, elements: [a], unit: rad, zero: urdf}\ncameras
SO101: a reordered group with its limits
  cameras → groups: [{name: arm, elements: [wrist_roll, shoulder_pan, shoulder_lift, elbow_flex, wrist_flex]}]\ncameras
    (elements_reordered /groups/0/elements @[)
SO101: an additional group comes last
  cameras → groups: [{name: head, kind: head, elements: [pan], unit: calibrated_range}]\ncameras
ARM: a high velocity where it is allowed
  velocity: 1 → velocity: [50, 50]
POINTER: full scale for each element
  {velocity: [1, 1, 1, 2, 2, 2]} → {}\n    normalized: {per: step, full_scale: [0.1, 0.1, 0.1, 0.2, 0.2, 0.2]}
POINTER: one full scale for all elements of an eef
  {velocity: [1, 1, 1, 2, 2, 2]} → {}\n    normalized: {per: second, full_scale: 0.1}
ROVER: fingers in another order than the alphabet's
  [thumb, index, pinky_1] → [thumb_1, index_1, index_0]
ROVER: fingers with one stem
  [thumb, index, pinky_1] → [f3, f_1, f_2]
`),
  );
  run([
    ["128 characters beyond the basic plane", ARM, [], ["topology", `display_name: "${"🤖".repeat(128)}"\ntopology`]],
  ]);
});

describe("stage 3: every key by itself", () => {
  run(
    readCases(String.raw`
ARM: a fraction is no integer, whatever its size
  640 → 20.5
    wrong_type /cameras/0/width @20.5
ARM: an empty value is at its key
  unit: rad → unit:
    wrong_type /groups/0/unit @unit
ARM: an empty item is at its list
  [a, b] → \n      -\n      - b
    wrong_type /groups/0/elements/0 @-
ARM: unknown keys of every mapping
  name: arm → limit: 1\n    name: arm
  {position → {effort: 1, position
  closed: 0 → opened: 1, closed: 0
  {role → {Fps: 1, role
    unknown_key /groups/0/limit @limit
    unknown_key /groups/0/limits/effort @effort
    unknown_key /groups/1/aperture/opened @opened
    unknown_key /cameras/0/Fps @Fps
ARM: values of another type
  [a, b] → a
  [-2, 2] → 2
  velocity: 1 → velocity: fast
  {name: gripper, kind: gripper, unit: ratio, aperture: {closed: 0, open: 1}} → none
  cameras:\n  - { → cameras: {
    wrong_type /groups/0/elements @a
    wrong_type /groups/0/limits/position/1 @2
    wrong_type /groups/0/limits/velocity @fast
    wrong_type /groups/1 @none
    wrong_type /cameras @{
ARM: lists that are too short or too long
  [a, b] → []
  [-1, 1] → [-1, 1, 2]
  \n  - {role: front, mount: exterior, width: 640, height: 480, fps: 30} →  []
    list_length /groups/0/elements @[
    list_length /groups/0/limits/position/0 @[
    list_length /cameras @[
SO101: no groups
  cameras: → groups: []\ncameras:
    list_length /groups @[
ARM: a quantity twice
  zero: urdf → zero: urdf\n    state: [position, effort, position]
    duplicate_name /groups/0/state/2 @position
ARM: duplicates are looked for among values without error
  [a, b] → [A, A, a, b, a]
    name_format /groups/0/elements/0 @A
    name_format /groups/0/elements/1 @A
    duplicate_name /groups/0/elements/4 @a
PAIR: a name three times
  left_gripper → left_arm
  right_arm → left_arm
    duplicate_name /groups/1/name @left_arm
    duplicate_name /groups/2/name @left_arm
PAIR: a role twice, on cameras with other errors
  left_wrist, mount: wrist → right_wrist, mount: hand
  right_wrist, mount: wrist, width: 640 → right_wrist, mount: wrist
    not_allowed /cameras/0/mount @hand
    missing /cameras/1/width @{
    duplicate_name /cameras/1/role @right_wrist
ARM: values that are not listed
  single_arm → Single_arm
  kind: arm → kind: joint
  urdf → URDF
  fps: 30 → fps: 30, rotation_degrees: 45, color_space: bgr, pixel_dtype: float
    not_allowed /topology @Single_arm
    not_allowed /groups/0/kind @joint
    not_allowed /groups/0/zero @URDF
    not_allowed /cameras/0/rotation_degrees @45
    not_allowed /cameras/0/color_space @bgr
    not_allowed /cameras/0/pixel_dtype @float
ARM: a rotation that is no number
  fps: 30 → fps: 30, rotation_degrees: left
    wrong_type /cameras/0/rotation_degrees @left
ARM: numbers that JSON would not write
  control_rate_hz: 20 → control_rate_hz: +20
  [-1, 1] → [-.5, 1.]
  velocity: 1 → velocity: 0x1
  640 → 1_000
  480 → 0b11
    number_format /control_rate_hz @+
    number_format /groups/0/limits/position/0/0 @-.5
    number_format /groups/0/limits/position/0/1 @1.
    number_format /groups/0/limits/velocity @0x1
    wrong_type /cameras/0/width @1_000
    wrong_type /cameras/0/height @0b11
ARM: invalid numbers, and numbers beyond every double
  control_rate_hz: 20 → control_rate_hz: 1e999
  velocity: 1 → velocity: -.INF
  closed: 0 → closed: .NaN
    not_finite /control_rate_hz @1e999
    not_finite /groups/0/limits/velocity @-.INF
    not_finite /groups/1/aperture/closed @.NaN
ARM: numbers beyond their bounds
  control_rate_hz: 20 → control_rate_hz: 1000.1
  [-1, 1] → [-1, 1000001]
  velocity: 1 → velocity: [0, 1]
  open: 1 → open: -1e7
  640 → 31
  480 → 4097
  fps: 30 → fps: 240.5
    out_of_range /control_rate_hz @1000.1
    out_of_range /groups/0/limits/position/0/1 @1000001
    out_of_range /groups/0/limits/velocity/0 @0
    out_of_range /groups/1/aperture/open @-1e7
    out_of_range /cameras/0/width @31
    out_of_range /cameras/0/height @4097
    out_of_range /cameras/0/fps @240.5
ARM: a secret is neither unknown nor a placeholder, and its value is not checked
  kind: arm → Api.Key: {password: 1}\n    kind: arm
  role: front → x-note: [1, {accessToken: ""}], role: "<sk_live_0123456789abcdef>"
    secret_in_manifest /groups/0/Api.Key @Api.Key
    secret_in_manifest /cameras/0/x-note/1/accessToken @accessToken
    secret_in_manifest /cameras/0/role @"
ARM: a secret below a value of another type, and below an unknown key
  kind: arm → kind: [sk_a_0123456789abcdef]
  {name: gripper → {notes: {a: sk_a_0123456789abcdef}, name: gripper
    wrong_type /groups/0/kind @[
    secret_in_manifest /groups/0/kind/0 @sk_a_0123456789abcdef
    unknown_key /groups/1/notes @notes
    secret_in_manifest /groups/1/notes/a @sk_a_0123456789abcdef
ARM: a placeholder ends the check
  [-2, 2] → [ TODO, 2]
  open: 1 → open: '<measure it>'
  cameras: → x-todo: TODO\ncameras:
  kind: gripper → kind: eef
    placeholder /groups/0/limits/position/1/0 @TODO
    placeholder /groups/1/aperture/open @'
ARM: a placeholder ends the check of a draft
  topology → status: draft\ntopology
  unit: rad → unit: "tbd: ask"
  single_arm → bimanual
    (status_draft /status @draft)
    (placeholder /groups/0/unit @")
ARM: a draft is checked to its end
  topology: single_arm → status: draft\ntopology: bimanual
    (status_draft /status @draft)
    topology_mismatch /topology @bimanual
ARM: an error in a draft is an error
  topology: single_arm → status: draft\ntopology: tripod
  unit: rad → unit: fixme
    (status_draft /status @draft)
    not_allowed /topology @tripod
    (placeholder /groups/0/unit @fixme)
DROID: members that every aperture, scale and camera has
  configuration → groups: [{name: arm, normalized: {}}, {aperture: {closed: 1}}]\nconfiguration
    missing /groups/0/normalized/full_scale @{
    missing /groups/0/normalized/per @{
    missing /groups/1/name @{
    missing /groups/1/aperture/open @{
SO101: an unknown base
  lerobot.so101 → lerobot.so100
    extends_unknown /extends @lerobot.so100-follower.v1
`),
  );
  run([
    [
      "body key without a value → custom type",
      "robot_type_id: acme.arm.v1\ngroups:\nconfiguration_files: [/a]\n",
      ["wrong_type /groups @groups"],
    ],
    ["33 groups", ARM, ["list_length /groups @-"], ["cameras:", `${repeated("  - {name: NAME}\n", 31)}cameras:`]],
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
      "invalid texts",
      POINTER,
      ["text_format /display_name @ddd", 'text_format /groups/0/frame @"'],
      ["topology", `display_name: ddd ${"d".repeat(125)}\ntopology`],
      ["tool0", '" \\t "'],
    ],
  ]);
});

describe("stage 4: the type's id, and required keys", () => {
  run(
    readCases(String.raw`
SO101: a catalog id is not also reserved
  acme.cell.v1 → lerobot.so101-follower.v1
    catalog_type_redefined /robot_type_id @lerobot.so101-follower.v1
SO101: a vendor of the catalog
  acme.cell.v1 → ur.cell.v1
    type_id_reserved /robot_type_id @ur.cell.v1
SO101: a vendor that only begins as one
  acme.cell.v1 → ur10.cell.v1
SO101: cameras of a base that leaves them to the installer
  cameras: [{role: front, mount: exterior, width: 640, height: 480, fps: 30}]\n → ∅
    missing /cameras @robot_type_id
ALOHA: cameras of a base that has them
SO101: elements and unit only of known kinds
  cameras → groups: [{name: a}, {name: head, kind: head}, {name: g, kind: gripper}, {name: base, kind: base}]\ncameras
    missing /groups/0/kind @{
    missing /groups/1/elements @{
    missing /groups/1/unit @{
    missing /groups/2/unit @{
SO101: a group with a changed kind keeps the members of its base
  cameras → groups: [{name: gripper, kind: eef, unit: rad}]\ncameras
    not_applicable /extends @lerobot.so101-follower.v1
    eef_frame_missing /groups/0/frame @{
    eef_rotation_missing /groups/0/rotation @{
    unit_kind /groups/0/unit @rad
`),
  );
  run([
    [
      "required keys of a robot that inherits nothing",
      "extends: lerobot.so101-follower.v1\nconfiguration_files: [/a]\n",
      ["missing /robot_type_id @extends"],
    ],
  ]);
});
