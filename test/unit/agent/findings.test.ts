import { expect, test } from "vitest";

import { readConfiguration } from "../../../src/agent/configuration/configuration.ts";
import {
  disputeFindings,
  type Document,
  fileFindings,
  type ManifestDocument,
  rejectionFindings,
} from "../../../src/agent/findings.ts";
import { READY_CATALOG } from "../../../src/manifest/catalog/ids.ts";
import { readManifest } from "../../../src/manifest/manifest.ts";

const configuration: Document = {
  path: "/etc/config.yaml",
  reading: readConfiguration(
    Buffer.from(
      "service: {url: https://policy.example}\nrobot:\n  name: arm-7\n  region: eu\n  labels:\n    line: a\n    a/b: c\n",
    ),
    { path: "/etc/config.yaml" },
  ),
};
const manifest = await manifestDocument(
  "robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files:\n  - /a.yaml\n  - /b.yaml\n",
);

async function manifestDocument(text: string): Promise<ManifestDocument> {
  const reading = await readManifest(Buffer.from(text), READY_CATALOG);
  return { path: "/etc/robot-manifest.yaml", reading: { ...reading, value: reading.manifest } };
}

const places: readonly [loc: (string | number)[], where: string][] = [
  [["body", "name"], "/etc/config.yaml:3:9"],
  [["body", "region"], "/etc/config.yaml:4:11"],
  [["body", "labels", "line"], "/etc/config.yaml:6:11"],
  [["body", "labels", "a/b"], "/etc/config.yaml:7:10"],
  [["body", "labels"], "/etc/config.yaml:6:5"],
  [["body", "site"], "/etc/config.yaml:3:3"],
  [["body", "robot_type_id"], "/etc/robot-manifest.yaml:1:16"],
  [["body", "configuration_digest"], "/etc/robot-manifest.yaml:3:3"],
  [["body", "contract", "schema"], "/etc/robot-manifest.yaml:1:1"],
  [["body"], "/etc/config.yaml:1:1"],
  // Members of every object in JavaScript.
  [["body", "constructor"], "/etc/config.yaml:1:1"],
  [["body", "__proto__", "name"], "/etc/config.yaml:1:1"],
];

test.each(places)("scenario 8: error at %j → finding at %s", (loc, where) => {
  const [finding] = rejectionFindings(
    [{ loc, msg: "String should have at most 64 characters", type: "string_too_long" }],
    configuration,
    manifest,
  );
  expect(`${finding?.file}:${finding?.line}:${finding?.column}`).toBe(where);
  expect(finding?.message).toContain("String should have at most 64 characters");
});

/** A separate group before one that overrides the base's; the contract orders them the other way round. */
const custom = await manifestDocument(`robot_type_id: acme.cell.v1
extends: lerobot.so101-follower.v1
control_rate_hz: 20
groups:
  - {name: lift, kind: torso, elements: [z], unit: m, zero: driver, limits: {position: [[0, 1]], velocity: 1}}
  - name: arm
    limits:
      position: [[-90, 90], [-90, 90], [-90, 90], [-90, 90], [-90, 90]]
cameras:
  - {role: front, mount: exterior, width: 640, height: 480, fps: 30}
  - role: wrist
    mount: wrist
    width: 640
    height: 480
    fps: 30
configuration_files: [/a.yaml]
`);

test.each<[loc: (string | number)[], pointer: string, where: string]>([
  [["cameras", 1, "fps"], "/cameras/1/fps", "15:10"],
  [["cameras", 1, "side"], "/cameras/1/side", "11:5"],
  [["cameras", 7, "fps"], "/cameras", "10:3"],
  [["cameras"], "/cameras", "10:3"],
  [["control_rate_hz"], "/control_rate_hz", "3:18"],
  [["robot_type_id"], "/robot_type_id", "1:16"],
  [["topology"], "/extends", "2:10"],
  [["groups", 0, "name"], "/groups/1/name", "6:11"],
  [["groups", 0, "zero"], "/extends", "2:10"],
  [["groups", 1], "/extends", "2:10"],
  [["groups", 2, "kind"], "/groups/0/kind", "5:24"],
  [["groups"], "/groups", "5:3"],
  [["action_axes", 0, "range", 0], "/groups/1/limits", "8:7"],
  [["action_axes", 6, "max_step"], "/groups/0/limits", "5:77"],
  [["state_axes", 6, "native", "scale"], "/groups/0/unit", "5:52"],
  [["state_axes", 99, "range"], "/groups", "5:3"],
  [["schema"], "", "1:1"],
  [["__proto__", "constructor"], "", "1:1"],
  [[], "", "1:1"],
])("rejectionFindings: error at %j of a contract → finding at %s", (path, pointer, where) => {
  const error = { loc: ["body", "contract", ...path], msg: "no", type: "value_error" };
  const [finding] = rejectionFindings([error], configuration, custom);
  expect([finding?.loc, `${finding?.line}:${finding?.column}`]).toEqual([pointer, where]);
});

test("fileFindings: file → finding at the line that lists it", () => {
  const files = [
    { label: "/a.yaml", path: "/a.yaml", loc: "/configuration_files/0" },
    { label: "/b.yaml", path: "/b.yaml", loc: "/configuration_files/1" },
  ];
  const [finding] = fileFindings(
    [{ id: "file_missing", severity: "error", path: "/b.yaml", index: 1, message: "gone" }],
    manifest,
    files,
  );
  expect(finding).toEqual({
    id: "file_missing",
    severity: "error",
    loc: "/configuration_files/1",
    message: "gone",
    file: "/etc/robot-manifest.yaml",
    line: 4,
    column: 5,
  });
});

test("two computers with one name → one warning at the name: replaced, or contested if the service says so", () => {
  const at = "2026-02-03T00:00:00Z";
  const replaced = { at, configuration_digest: `sha256:${"a".repeat(64)}` };
  const disputes = [
    disputeFindings({ replaced, contestedSince: at }, configuration),
    disputeFindings({ replaced: null, contestedSince: at }, configuration),
  ];
  for (const findings of disputes) {
    expect(findings).toMatchObject([
      { id: "replaced", severity: "warning", line: 3, message: expect.stringContaining(at) },
    ]);
  }
  expect(disputeFindings({ replaced: null, contestedSince: null }, configuration)).toEqual([]);
});
