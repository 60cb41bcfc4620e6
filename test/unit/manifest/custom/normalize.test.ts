/** The arithmetic of contracts, computed by hand from the specification. */
import { describe, expect, test } from "vitest";

import type { ActionAxis, Contract } from "../../../../src/manifest/custom/contract.ts";
import { readManifest } from "../../../../src/manifest/manifest.ts";

const HEAD = "robot_type_id: acme.robot.v1\nconfiguration_files: [/a]\n";
const CAMERA = "cameras: [{role: front, mount: exterior, width: 640, height: 480, fps: 240}]\n";

async function contractOf(text: string): Promise<Contract> {
  const { findings, value: manifest } = await readManifest(Buffer.from(HEAD + text));
  if (!manifest?.contract) throw new Error(JSON.stringify(findings));
  return manifest.contract;
}

/** `name unit [low, high] unit×scale+offset ≤step`, without absent parts. */
function shown({ name, unit, range, native, max_step: maxStep }: ActionAxis): string {
  return [
    name,
    unit,
    ...(range === undefined ? [] : [`[${range.join(", ")}]`]),
    ...(native === undefined ? [] : [`${native.unit}×${native.scale}+${native.offset}`]),
    ...(maxStep === undefined ? [] : [`≤${maxStep}`]),
  ].join(" ");
}

const SO101_JOINTS = ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll"];

const robot = (semantics: string, group: string, rest = "topology: single_arm", rate = 10) =>
  `${rest}\naction_semantics: ${semantics}\ncontrol_rate_hz: ${rate}\ngroups:\n  - ${group}\n${CAMERA}`;

/** Without the last list both vectors are the same. */
test.each<[title: string, text: string, state: readonly string[], action?: readonly string[]]>([
  [
    "velocity in the state, with a velocity limit",
    robot(
      "joint_position",
      "{name: arm, kind: arm, elements: [a], unit: deg, zero: urdf, state: [effort, position, velocity], limits: {position: [[-180, 90]], velocity: 18}}",
    ),
    [
      "arm.a.effort N.m",
      "arm.a.position rad [-3.14159265359, 1.57079632679] deg×0.0174532925199+0",
      "arm.a.velocity rad/s [-0.314159265359, 0.314159265359] deg/s×0.0174532925199+0",
    ],
    ["arm.a.position rad [-3.14159265359, 1.57079632679] deg×0.0174532925199+0 ≤0.0314159265359"],
  ],
  [
    "joint that turns without end → no range, and the largest step of its speed",
    robot(
      "joint_position",
      "{name: arm, kind: arm, elements: [a, b], unit: deg, zero: urdf, limits: {position: [{continuous: true}, [-90, 90]], velocity: 90}}",
    ),
    [
      "arm.a.position rad deg×0.0174532925199+0",
      "arm.b.position rad [-1.57079632679, 1.57079632679] deg×0.0174532925199+0",
    ],
    [
      "arm.a.position rad deg×0.0174532925199+0 ≤0.157079632679",
      "arm.b.position rad [-1.57079632679, 1.57079632679] deg×0.0174532925199+0 ≤0.157079632679",
    ],
  ],
  [
    "counts of an encoder → angles, by the counts of a turn; those of a gripper by its aperture",
    robot(
      "joint_velocity",
      "{name: arm, kind: arm, elements: [a], unit: counts, counts_per_turn: 4096, zero: driver, limits: {position: [[-1024, 2048]], velocity: 2048}}\n  - {name: gripper, kind: gripper, unit: counts, aperture: {closed: 2000, open: 3000}}",
    ),
    [
      "arm.a.position rad [-1.57079632679, 3.14159265359] counts×0.00153398078789+0",
      "gripper.gripper.position 1 [0, 1] counts×0.001+-2",
    ],
    [
      "arm.a.velocity rad/s [-3.14159265359, 3.14159265359] counts/s×0.00153398078789+0",
      "gripper.gripper.position 1 [0, 1] counts×0.001+-2",
    ],
  ],
  [
    "limits in deg and a full scale in counts",
    robot(
      "joint_velocity",
      "{name: arm, kind: arm, elements: [a], unit: counts, counts_per_turn: 360, zero: driver, normalized: {full_scale: 90, per: second}, limits: {unit: deg, position: [[-90, 90]], velocity: 180}}",
    ),
    ["arm.a.position rad [-1.57079632679, 1.57079632679] counts×0.0174532925199+0"],
    ["arm.a.velocity rad/s [-1.57079632679, 1.57079632679] normalized×1.57079632679+0"],
  ],
  [
    "another unit than the base's → none of its numbers",
    "extends: lerobot.so101-follower.v1\ngroups: [{name: arm, unit: calibrated_range}, {name: gripper, unit: ratio, aperture: {closed: 0, open: 1}}]\n" +
      CAMERA,
    [
      ...SO101_JOINTS.map((joint) => `arm.${joint}.position 1 [-1, 1] calibrated_range×0.01+0`),
      "gripper.gripper.position 1 [0, 1]",
    ],
  ],
  [
    "observed joint without limits → no range",
    robot(
      "joint_position",
      "{name: arm, kind: arm, elements: [a], unit: calibrated_range}\n  - {name: leg, kind: leg, elements: [b], unit: rad, zero: urdf, action: none, state: [velocity, position]}",
    ),
    ["arm.a.position 1 [-1, 1] calibrated_range×0.01+0", "leg.b.velocity rad/s", "leg.b.position rad"],
    ["arm.a.position 1 [-1, 1] calibrated_range×0.01+0"],
  ],
  [
    "gripper whose values grow when it closes, with a velocity limit",
    robot(
      "joint_position",
      "{name: arm, kind: arm, elements: [a], unit: calibrated_range}\n  - {name: gripper, kind: gripper, unit: mm, aperture: {closed: 85, open: 5}, limits: {velocity: [40]}}",
    ),
    ["arm.a.position 1 [-1, 1] calibrated_range×0.01+0", "gripper.gripper.position 1 [0, 1] mm×-0.0125+1.0625"],
    ["arm.a.position 1 [-1, 1] calibrated_range×0.01+0", "gripper.gripper.position 1 [0, 1] mm×-0.0125+1.0625 ≤0.05"],
  ],
  [
    "gripper in its canonical unit → no native unit, and no negative zero",
    robot(
      "joint_position",
      "{name: arm, kind: arm, elements: [a], unit: calibrated_range}\n  - {name: gripper, kind: gripper, unit: rad, aperture: {closed: -0, open: 1}, action: none}",
    ),
    ["arm.a.position 1 [-1, 1] calibrated_range×0.01+0", "gripper.gripper.position 1 [0, 1]"],
    ["arm.a.position 1 [-1, 1] calibrated_range×0.01+0"],
  ],
  [
    "velocities → the smaller of the velocity limit and the full scale per step",
    robot(
      "joint_velocity",
      "{name: arm, kind: arm, elements: [a, b], unit: deg, zero: urdf, normalized: {full_scale: [1, 9], per: step}, limits: {velocity: 45}}",
    ),
    ["arm.a.position rad deg×0.0174532925199+0", "arm.b.position rad deg×0.0174532925199+0"],
    [
      "arm.a.velocity rad/s [-0.174532925199, 0.174532925199] normalized×0.174532925199+0",
      "arm.b.velocity rad/s [-0.785398163397, 0.785398163397] normalized×1.57079632679+0",
    ],
  ],
  [
    "full scale of one canonical unit → omitted",
    robot(
      "joint_velocity",
      "{name: arm, kind: arm, elements: [a], unit: rad, zero: urdf, normalized: {full_scale: 1, per: second}}",
    ),
    ["arm.a.position rad"],
    ["arm.a.velocity rad/s [-1, 1]"],
  ],
  [
    "deltas in millimetres and degrees",
    robot(
      "eef_delta",
      "{name: eef, kind: eef, unit: mm, angle_unit: deg, frame: tool0, rotation: euler_xyz, limits: {position: [[0, 500], [-250, 250], [0, 900]], velocity: [100, 100, 100, 90, 90, 90]}}",
    ),
    [
      "eef.x.position m [0, 0.5] mm×0.001+0",
      "eef.y.position m [-0.25, 0.25] mm×0.001+0",
      "eef.z.position m [0, 0.9] mm×0.001+0",
      ...["roll", "pitch", "yaw"].map(
        (name) => `eef.${name}.position rad [-3.14159265359, 3.14159265359] deg×0.0174532925199+0`,
      ),
    ],
    [
      ...["x", "y", "z"].map((name) => `eef.${name}.delta m [-0.01, 0.01] mm×0.001+0`),
      ...["roll", "pitch", "yaw"].map(
        (name) => `eef.${name}.delta rad [-0.157079632679, 0.157079632679] deg×0.0174532925199+0`,
      ),
    ],
  ],
  [
    "normalized deltas per second, one full scale for all",
    robot(
      "eef_delta",
      "{name: eef, kind: eef, frame: tool0, rotation: none, normalized: {full_scale: 0.5, per: second}, limits: {velocity: [1, 0.25, 1]}}",
    ),
    ["eef.x.position m", "eef.y.position m", "eef.z.position m"],
    [
      "eef.x.delta m [-0.05, 0.05] normalized×0.05+0",
      "eef.y.delta m [-0.025, 0.025] normalized×0.05+0",
      "eef.z.delta m [-0.05, 0.05] normalized×0.05+0",
    ],
  ],
  [
    "pose with a quaternion → its components have no velocity limit",
    robot(
      "eef_absolute",
      "{name: eef, kind: eef, frame: tool0, rotation: quat_xyzw, limits: {position: [[0, 1], [0, 1], [0, 1]], velocity: [1, 1, 2]}}",
    ),
    [
      ...["x", "y", "z"].map((name) => `eef.${name}.position m [0, 1]`),
      ...["qx", "qy", "qz", "qw"].map((name) => `eef.${name}.position 1 [-1, 1]`),
    ],
    [
      "eef.x.position m [0, 1] ≤0.1",
      "eef.y.position m [0, 1] ≤0.1",
      "eef.z.position m [0, 1] ≤0.2",
      ...["qx", "qy", "qz", "qw"].map((name) => `eef.${name}.position 1 [-1, 1]`),
    ],
  ],
  [
    "a base with reordered elements, in degrees",
    robot(
      "joint_position",
      "{name: base, kind: base, elements: [theta, x], unit: mm, angle_unit: deg, limits: {velocity: [90, 500]}}\n  - {name: arm, kind: arm, elements: [a], unit: calibrated_range}",
      "topology: mobile_manipulator",
    ),
    [
      "base.theta.velocity rad/s [-1.57079632679, 1.57079632679] deg/s×0.0174532925199+0",
      "base.x.velocity m/s [-0.5, 0.5] mm/s×0.001+0",
      "arm.a.position 1 [-1, 1] calibrated_range×0.01+0",
    ],
  ],
  [
    "limits in another unit than the driver's; lift → force",
    robot(
      "joint_position",
      "{name: arm, kind: arm, elements: [a], unit: rad, zero: urdf, limits: {unit: deg, position: [[-90, 45]], velocity: 90}}\n  - {name: lift, kind: torso, elements: [z], unit: mm, zero: driver, action: none, state: [effort], limits: {unit: m, position: [[0, 1]]}}",
    ),
    ["arm.a.position rad [-1.57079632679, 0.785398163397]", "lift.z.effort N"],
    ["arm.a.position rad [-1.57079632679, 0.785398163397] ≤0.157079632679"],
  ],
  [
    "dimensionless units, with and without limits",
    robot(
      "joint_position",
      "{name: arm, kind: arm, elements: [a], unit: calibrated_range, limits: {position: [[-50, 100]], velocity: 200}}\n  - {name: hand, kind: hand, elements: [f, g], unit: percent, limits: {unit: ratio, position: [[0, 0.5], [0.25, 1]]}}",
    ),
    [
      "arm.a.position 1 [-0.5, 1] calibrated_range×0.01+0",
      "hand.f.position 1 [0, 0.5] percent×0.01+0",
      "hand.g.position 1 [0.25, 1] percent×0.01+0",
    ],
    [
      "arm.a.position 1 [-0.5, 1] calibrated_range×0.01+0 ≤0.2",
      "hand.f.position 1 [0, 0.5] percent×0.01+0",
      "hand.g.position 1 [0.25, 1] percent×0.01+0",
    ],
  ],
])("normalize: %s", async (_, text, state, action = state) => {
  const contract = await contractOf(text);
  expect(contract.state_axes.map(shown)).toEqual(state);
  expect(contract.action_axes.map(shown)).toEqual(action);
});

describe("members", () => {
  test("normalize: groups and cameras → sides, zeros and frames, without empty members", async () => {
    const text = `display_name: " Ge\\u0308rät "
topology: bimanual
action_semantics: eef_absolute
control_rate_hz: 10.50
groups:
  - {name: left_tool, kind: eef, frame: " tool0 ", rotation: none, limits: {position: [[0, 1], [0, 1], [0, 1]]}}
  - {name: right_left_tool, side: right, kind: eef, frame: t, rotation: none, limits: {position: [[0, 1], [0, 1], [0, 1]]}}
  - {name: neck, side: none, kind: head, elements: [pan], unit: deg, zero: calibrated_mid, action: none}
cameras:
  - {role: left_wrist, mount: wrist, width: 640, height: 480, fps: 30, rotation_degrees: 2.7e2}
  - {role: left, mount: exterior, width: 640, height: 480, fps: 30.0, rotation_degrees: -0}
  - {role: tool, mount: wrist, side: right, width: 640, height: 480, fps: 30}
`.replace('" Ge\\u0308rät "', JSON.stringify(" Ge\u0308ra\u0308t "));
    const { state_axes: _state, action_axes: _action, ...members } = await contractOf(text);
    const image = { width: 640, height: 480, fps: 30, color_space: "rgb", pixel_dtype: "uint8" };
    expect(members).toEqual({
      schema: "robot-contract/v1",
      robot_type_id: "acme.robot.v1",
      display_name: "Gërät",
      topology: "bimanual",
      action_semantics: "eef_absolute",
      gripper: "none",
      control_rate_hz: 10.5,
      groups: [
        { name: "left_tool", kind: "eef", side: "left", frame: "tool0", rotation: "none" },
        { name: "right_left_tool", kind: "eef", side: "right", frame: "t", rotation: "none" },
        { name: "neck", kind: "head", zero: "calibrated_mid" },
      ],
      cameras: [
        { role: "left_wrist", mount: "wrist", side: "left", rotation_degrees: 270, ...image },
        { role: "left", mount: "exterior", rotation_degrees: 0, ...image },
        { role: "tool", mount: "wrist", side: "right", rotation_degrees: 0, ...image },
      ],
    });
  });

  test("normalize: extended robot → its changes, without the name of its base", async () => {
    const text = (rest: string) => `extends: bridge.widowx-250.v1\n${rest}${CAMERA}`;
    const [plain, changed] = [
      await contractOf(text("")),
      await contractOf(text("control_rate_hz: 10\ngroups: [{name: gripper, aperture: {closed: 1, open: 0}}]\n")),
    ];
    expect(JSON.stringify(plain)).not.toContain("bridge");
    expect(changed.action_axes.map(({ name }) => name)).toEqual(plain.action_axes.map(({ name }) => name));
    expect(changed.action_axes.at(-1)).toEqual({
      ...plain.action_axes.at(-1),
      native: { unit: "ratio", scale: -1, offset: 1 },
    });
    expect([plain.action_axes[0]?.range, changed.action_axes[0]?.range]).toEqual([
      [-0.05, 0.05],
      [-0.025, 0.025],
    ]);
  });
});
