import { expect, test } from "vitest";

import type { Document } from "../../../src/agent/findings.ts";
import { fileFindings, rejectionFindings } from "../../../src/agent/findings.ts";
import { readConfiguration } from "../../../src/agent/configuration.ts";
import { READY_CATALOG } from "../../../src/manifest/catalog-ids.ts";
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
const manifest: Document = {
  path: "/etc/robot-manifest.yaml",
  reading: readManifest(
    Buffer.from("robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files:\n  - /a.yaml\n  - /b.yaml\n"),
    READY_CATALOG,
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
  [["body", "configuration_digest"], "/etc/robot-manifest.yaml:3:3"],
  [["body", "contract", "schema"], "/etc/robot-manifest.yaml:1:1"],
  [["body"], "/etc/config.yaml:1:1"],
];

test.each(places)("scenario 8: an error at %j is shown at %s", (loc, where) => {
  const [finding] = rejectionFindings(
    [{ loc, msg: "String should have at most 64 characters", type: "string_too_long" }],
    configuration,
    manifest,
  );
  expect(`${finding?.file}:${finding?.line}:${finding?.column}`).toBe(where);
  expect(finding?.message).toContain("String should have at most 64 characters");
});

test("fileFindings: at the line that lists the file", () => {
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
