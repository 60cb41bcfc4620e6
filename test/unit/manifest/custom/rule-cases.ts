/** Test cases of rules for custom types: a manifest without findings, and a few edits. */
import { expect, test } from "vitest";

import { READY_CATALOG } from "../../../../src/manifest/catalog/ids.ts";
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

const ALOHA = `robot_type_id: acme.cell.v1
extends: trossen.aloha-bimanual.v1
configuration_files: [/etc/cell.json]
`;

type Edit = readonly [from: string, to: string];

/** Findings as `id loc @word`, where the word stands at the line and column; warnings in parentheses. */
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

/** The findings of a manifest after some edits. */
type Case = readonly [title: string, text: string, expected: readonly string[], ...edits: Edit[]];

export function run(cases: readonly Case[]): void {
  test.each(cases.map(([title, ...rest]) => ({ title, rest })))("readManifest: $title", async ({ rest }) => {
    const [text, expected, ...edits] = rest;
    expect(await findingsOf(edited(text, edits))).toEqual(expected);
  });
}

const BASES = { ARM, PAIR, POINTER, ROVER, SO101, DROID, ALOHA };

/**
 * Parses cases in text form: the manifest and a title, then each edit as `from → to`, then the findings. `\n` stands for a line feed, `∅`
 * for nothing.
 */
export function readCases(text: string): readonly Case[] {
  const cases: [title: string, text: string, expected: string[], ...edits: Edit[]][] = [];
  for (const line of text.trim().split("\n")) {
    const [, base, title] = /^(\w+): (.*)$/.exec(line) ?? [];
    const [from, to] = line
      .slice(2)
      .replaceAll(String.raw`\n`, "\n")
      .replace(/∅$/, "")
      .split(" → ");
    if (base !== undefined && title !== undefined) {
      cases.push([title, BASES[base as keyof typeof BASES], []]);
    } else if (from !== undefined && to !== undefined) cases.at(-1)?.push([from, to]);
    else cases.at(-1)?.[2].push(line.trim());
  }
  return cases;
}

/** This many lines, each with its own name. */
export function repeated(line: string, count: number): string {
  return Array.from({ length: count }, (_, index) => line.replace("NAME", `n${index}`)).join("");
}
