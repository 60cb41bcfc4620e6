import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";

import { readManifest } from "../../../src/manifest/manifest.ts";
import { manifestSchema } from "../../../src/manifest/custom/keys.ts";

const schema = manifestSchema();
const validator = z.fromJSONSchema(schema);

describe("manifestSchema", () => {
  test.each([
    "robot_type_id: yam.bimanual-joint-position.v1\n",
    "schema: robot-manifest/v1\nrobot_type_id: a.b.v1\nstatus: draft\ndisplay_name: a\nx-a: {b: c}\n",
    "robot_type_id: a.b.v1\nconfiguration_files: [/a, ~/b, {path: /c}, {label: d, path: /d, x-e: 1}]\n",
    "configuration_files: [/a]\n",
    "schema: robot-manifest/v2\nrobot_type_id: a.b.v1\n",
    "robot_type_id: A.b.v1\n",
    "robot_type_id: a.b.v1\ndisplay_name: ''\n",
    "robot_type_id: a.b.v1\nconfiguration_files: [a]\n",
    "robot_type_id: a.b.v1\nconfiguration_files: [/a/]\n",
    "robot_type_id: a.b.v1\nconfiguration_files: [{label: a, path: b}]\n",
    "robot_type_id: a.b.v1\nconfiguration_files: [/a/*.stl, {device: /dev/cam, by: port}, {label: b, interface: can0}]\n",
    "robot_type_id: a.b.v1\nconfiguration_files: [{device: dev/cam}]\n",
    "robot_type_id: a.b.v1\nconfiguration_files: [{path: /a/*.stl, share: true}, {path: /b, share: false}]\n",
    "robot_type_id: a.b.v1\nconfiguration_files: [{path: /a, share: 1}]\n",
    `robot_type_id: a.b.v1\nconfiguration_files: [${"/a, ".repeat(65)}]\n`,
  ])("manifestSchema: %j → agrees with the reader", async (text) => {
    const { findings } = await readManifest(Buffer.from(text));
    const isValid = findings.every(({ severity }) => severity === "warning");
    expect(validator.safeParse(parse(text)).success).toBe(isValid);
  });

  const CUSTOM = `robot_type_id: a.b.v1
topology: single_arm
action_semantics: joint_position
control_rate_hz: 20
groups:
  - {name: arm, kind: arm, elements: [a, b], unit: rad, zero: urdf, state: [], limits: {position: [[-1, 1], [-2, 2]], velocity: [1, 2]}}
  - {name: g, kind: gripper, side: left, unit: mm, aperture: {closed: 0, open: 1}, x-a: 1}
  - {name: e, kind: eef, angle_unit: deg, frame: f, rotation: none, action: none, normalized: {full_scale: 1, per: step}}
cameras:
  - {role: f, mount: wrist, side: left, width: 6.4e2, height: 480, fps: 0.5, rotation_degrees: 90, color_space: rgb, pixel_dtype: uint8}
`;

  /** Findings that a schema can express: those about single keys. */
  const BY_ITSELF = new Set(
    "wrong_type unknown_key missing duplicate_name not_allowed out_of_range list_length name_format text_format extends_unknown".split(
      " ",
    ),
  );

  test.each([
    ["", ""],
    ["topology", "extends: lerobot.so101-follower.v1\ntopology"],
    ["topology", "extends: lerobot.so102-follower.v1\ntopology"],
    ["single_arm", "arm"],
    ["control_rate_hz: 20", 'control_rate_hz: "20"'],
    ["name: arm", "name: Arm"],
    ["[a, b]", "[a, a]"],
    ["[-1, 1]", "[-1]"],
    ["velocity: [1, 2]", "velocity: 1"],
    ["velocity: [1, 2]", "velocity: [0]"],
    ["frame: f", "frame: ''"],
    ["width: 6.4e2", "width: 640.5"],
    ["rotation_degrees: 90", "rotation_degrees: 45"],
    ["role: f", "rolle: f"],
    ["cameras:", "cameras: []\nx-cameras:"],
  ])("manifestSchema: custom type with %j → %j: agrees with the reader", async (from, to) => {
    expect(CUSTOM).toContain(from);
    const text = CUSTOM.replace(from, to);
    const { findings } = await readManifest(Buffer.from(text));
    const isValid = !findings.some(({ id }) => BY_ITSELF.has(id));
    expect([findings, validator.safeParse(parse(text)).success]).toEqual([findings, isValid]);
  });

  test("manifestSchema: every key → has a description", async () => {
    const { properties } = schema as { properties: Record<string, { description?: string }> };
    for (const [key, { description }] of Object.entries(properties))
      expect([key, description?.length]).toEqual([key, expect.any(Number)]);
  });
});
