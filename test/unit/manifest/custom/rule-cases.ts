/** Manifests without findings, to which the rules for custom types make a few edits. */
import { expect, test } from "vitest";

import { readManifest } from "../../../../src/manifest/manifest.ts";

export const ARM = `robot_type_id: acme.arm.v1
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

export const PAIR = `robot_type_id: acme.pair.v1
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

export const POINTER = `robot_type_id: acme.pointer.v1
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

export const ROVER = `robot_type_id: acme.rover.v1
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

export const SO101 = `robot_type_id: acme.cell.v1
extends: lerobot.so101-follower.v1
cameras: [{role: front, mount: exterior, width: 640, height: 480, fps: 30}]
configuration_files: [/etc/cell.json]
`;

export const DROID = `robot_type_id: acme.cell.v1
extends: droid.franka-panda.v1
configuration_files: [/etc/cell.json]
`;

export const ALOHA = `robot_type_id: acme.cell.v1
extends: trossen.aloha-bimanual.v1
configuration_files: [/etc/cell.json]
`;

/** Edits of a manifest, from a text that it has to another, and the findings that they cause: `id loc`, warnings with `warning` before it. */
type Rule = readonly [edits: Readonly<Record<string, string>>, ...findings: string[]];

/** One test for each rule, by its title. */
export function rules(manifest: string, table: Readonly<Record<string, Rule>>): void {
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
export function repeated(line: string, count: number): string {
  return Array.from({ length: count }, (_, index) => line.replace("NAME", `n${index}`)).join("");
}
