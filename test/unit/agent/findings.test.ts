import { expect, test } from "vitest";

import { readConfiguration } from "../../../src/agent/configuration/configuration.ts";
import { disputeFindings, type Document, fileFindings, rejectionFindings } from "../../../src/agent/findings.ts";
import { readManifest } from "../../../src/manifest/manifest.ts";

const configuration: Document = {
  path: "/etc/config.yaml",
  reading: readConfiguration(
    Buffer.from(
      "service: {url: https://policy.example}\nrobot:\n  name: arm-7\n  region: eu\n  labels:\n    line: a\n    a/b: c\n",
    ),
    "/etc/config.yaml",
  ),
};
const manifest: Document = {
  path: "/etc/robot-manifest.yaml",
  reading: await readManifest(
    Buffer.from("robot_type_id: acme.cell.v1\ngroups: [{}]\nconfiguration_files:\n  - /a.yaml\n  - /b.yaml\n"),
  ),
};

const places: readonly [loc: (string | number)[], where: string][] = [
  [["body", "name"], "/etc/config.yaml:3:9"],
  [["body", "region"], "/etc/config.yaml:4:11"],
  [["body", "labels", "line"], "/etc/config.yaml:6:11"],
  [["body", "labels", "a/b"], "/etc/config.yaml:7:10"],
  [["body", "labels"], "/etc/config.yaml:6:5"],
  [["body", "site"], "/etc/config.yaml:3:3"],
  [["body", "robot_type_id"], "/etc/robot-manifest.yaml:1:16"],
  [["body", "configuration_digest"], "/etc/robot-manifest.yaml:4:3"],
  [["body", "contract", "action_axes", 0, "range"], "/etc/robot-manifest.yaml:2:9"],
  [["body", "contract", "topology"], "/etc/robot-manifest.yaml:1:1"],
  [["body", "contract"], "/etc/robot-manifest.yaml:1:1"],
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

test("fileFindings: file → finding at the line that lists it", () => {
  const files = [
    { label: "/a.yaml", path: "/a.yaml", loc: "/configuration_files/0" },
    { label: "/b.yaml", path: "/b.yaml", loc: "/configuration_files/1" },
  ];
  const [finding] = fileFindings(
    [{ id: "file_missing", severity: "error", path: "/b.yaml", entry: 1, message: "gone" }],
    manifest,
    files,
  );
  expect(finding).toEqual({
    id: "file_missing",
    severity: "error",
    loc: "/configuration_files/1",
    message: "gone",
    file: "/etc/robot-manifest.yaml",
    line: 5,
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
