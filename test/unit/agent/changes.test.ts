import { expect, test } from "vitest";

import { changesSince, describeChanges } from "../../../src/agent/changes.ts";
import type { RobotSetup } from "../../../src/api/robots.ts";
import type { FileFingerprint } from "../../../src/look/snapshot.ts";

const NOON_MS = new Date(2026, 0, 31, 12, 0).getTime();
const MINUTE_MS = 60_000;

function file(label: string, content: string, writtenMs = NOON_MS): FileFingerprint {
  const mtimeNs = BigInt(writtenMs) * 1_000_000n;
  const stat = { kind: "file", device: 1n, inode: 1n, sizeBytes: 1, mtimeNs, ctimeNs: mtimeNs } as const;
  const owner = { mode: 0o644, userId: 0, groupId: 0 };
  const path = `/opt/${label.replaceAll(" ", "-")}.yaml`;
  return { label, path, sha256: content, bytes: 1, suspect: false, stat: { ...stat, ...owner } };
}

const request: RobotSetup = {
  name: "arm-7",
  robot_type_id: "acme.arm.v1",
  region: "eu-central-1",
  configuration_digest: "sha256:1",
  site: "hall-2",
  labels: { bay: "1", line: "a" },
};
const left = file("left arm", "1");
const right = file("right arm", "1");

/** As a person reads it just after noon. */
async function said(files: readonly FileFingerprint[], body: RobotSetup | null): Promise<readonly string[]> {
  const changes = await changesSince({ files: [left, right], request }, files, body);
  return describeChanges(changes, NOON_MS + MINUTE_MS);
}

test.each<[what: string, files: readonly FileFingerprint[], body: RobotSetup | null, said: readonly string[]]>([
  ["nothing", [left, right], request, []],
  ["touched, with the same content", [file("left arm", "1", 0), right], request, []],
  [
    "one of two",
    [left, file("right arm", "2", NOON_MS + MINUTE_MS)],
    { ...request, configuration_digest: "sha256:2" },
    ["changed  right arm (/opt/right-arm.yaml) 12:01"],
  ],
  [
    "written on another day",
    [file("left arm", "2", new Date(2025, 11, 24, 18, 5).getTime()), right],
    null,
    ["changed  left arm (/opt/left-arm.yaml) 2025-12-24 18:05"],
  ],
  [
    "one in place of another",
    [left, file("camera", "3")],
    null,
    ["added  camera (/opt/camera.yaml) 12:00", "removed  right arm (/opt/right-arm.yaml)"],
  ],
  [
    "a file without a label of its own",
    [left, right, { ...file("x", "1"), label: "/opt/x.yaml" }],
    null,
    ["added  /opt/x.yaml 12:00"],
  ],
  [
    "the order",
    [right, left],
    { ...request, configuration_digest: "sha256:2" },
    ["changed  the order of the configuration files"],
  ],
  [
    "members of the request",
    [left, right],
    { ...request, site: "hall-3", labels: { bay: "2", shift: "day" }, contract: { axes: 7 } },
    [
      "changed  site: hall-2 → hall-3",
      "changed  label bay: 1 → 2",
      "changed  label line: a → none",
      "changed  label shift: none → day",
      "changed  contract is new",
    ],
  ],
])("changesSince: %s", async (_what, files, body, expected) => {
  expect(await said(files, body)).toEqual(expected);
});

test("describeChanges for a log → without times", async () => {
  const changes = await changesSince({ files: [left], request }, [file("left arm", "2")], null);
  expect(describeChanges(changes, null)).toEqual(["changed  left arm (/opt/left-arm.yaml)"]);
});

const LINE = '{"bus":"usb","index":0,"product":"082d","serial":"A","vendor":"046d"}';

/** A camera with this line. */
function camera(line: string): FileFingerprint {
  return { ...file("front camera", line), path: "/dev/cam_front", line };
}

function mesh(name: string, content: string): FileFingerprint {
  return { ...file(name, content), label: `/opt/${name}.yaml`, pattern: "/opt/*.yaml" };
}

test.each<[what: string, before: FileFingerprint[], after: FileFingerprint[], said: string[]]>([
  [
    "a device: what of its line differs",
    [camera(LINE)],
    [camera('{"bus":"usb","index":0,"port":"1.4","product":"5830","vendor":"0bda"}')],
    [
      "changed  front camera (/dev/cam_front): product 082d → 5830, serial A → none, vendor 046d → 0bda, port none → 1.4",
    ],
  ],
  ["a device that is new", [], [camera(LINE)], ["added  front camera (/dev/cam_front)"]],
  ["a device that is not listed now", [camera(LINE)], [], ["removed  front camera (/dev/cam_front)"]],
  [
    "a device in place of a file",
    [{ ...file("front camera", "1"), path: "/dev/cam_front" }],
    [camera(LINE)],
    ["changed  front camera (/dev/cam_front)"],
  ],
  ["one file of a pattern", [mesh("a", "1")], [mesh("a", "2")], ["changed  /opt/a.yaml 12:00"]],
  [
    "files of a pattern: one line for each kind of change",
    [mesh("a", "1"), mesh("b", "1"), mesh("c", "1"), mesh("d", "1")],
    [mesh("a", "2"), mesh("b", "2"), mesh("e", "1")],
    ["changed  2 files of /opt/*.yaml", "added  /opt/e.yaml 12:00", "removed  2 files of /opt/*.yaml"],
  ],
])("describeChanges: %s", async (_what, before, after, expected) => {
  const changes = await changesSince({ files: before, request }, after, null);
  expect(describeChanges(changes, NOON_MS + MINUTE_MS)).toEqual(expected);
});
