import { describe, expect, test } from "vitest";

import { hiddenBy, parseUnit, parseUnits, readServiceUnit, type ServiceUnit } from "../../../src/access/unit.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import type { ProgramResult, RunProgram } from "../../../src/platform/programs.ts";

/** As `systemctl show` prints it (systemd 252). */
const SHOWN = `LoadState=loaded
ActiveState=active
SubState=running
UnitFileState=enabled
Result=success
ExecMainStatus=0
NRestarts=3
NeedDaemonReload=yes
ConditionResult=no
ConditionTimestampMonotonic=12
DropInPaths=/a.conf /b.conf
User=robot
Group=video
SupplementaryGroups=video dialout
LoadCredential=api-key:/etc/key
LoadCredential=other:relative
LoadCredential=/etc/other
LoadCredentialEncrypted=sealed:/etc/sealed
ProtectHome=tmpfs
PrivateTmp=disconnected
InaccessiblePaths=-/srv/secret +/opt/closed
`;

test("parseUnits: service, timer and look, a paragraph each; a timer that is neither enabled nor active → none", () => {
  const look = "Result=timeout\nExecMainStartTimestampMonotonic=61500000\n";
  const units = (state: string) => parseUnits(`${SHOWN}\n${state}\n\n${look}`);
  const { unit, timer } = units("ActiveState=active\nUnitFileState=disabled");
  expect(unit).toEqual(parseUnit(SHOWN));
  expect(timer).toEqual({ isActive: true, isEnabled: false, lastLookMs: 61_500, lastResult: "timeout" });
  expect(units("ActiveState=inactive\nUnitFileState=enabled").timer).toMatchObject({
    isActive: false,
    isEnabled: true,
  });
  expect(units("ActiveState=inactive\nUnitFileState=disabled").timer).toBeNull();
});

test("parseUnit: properties of systemctl show, repeated ones joined", () => {
  expect(parseUnit(SHOWN)).toEqual({
    loadState: "loaded",
    activeState: "active",
    subState: "running",
    unitFileState: "enabled",
    result: "success",
    exitStatus: "0",
    restarts: 3,
    needsReload: true,
    conditionFailed: true,
    dropInPaths: ["/a.conf", "/b.conf"],
    user: "robot",
    group: "video",
    supplementaryGroups: ["video", "dialout"],
    credentialPaths: ["/etc/key", "/etc/other", "/etc/sealed"],
    protectHome: "tmpfs",
    hasPrivateTmp: true,
    inaccessiblePaths: ["/srv/secret", "/opt/closed"],
  });
});

test.each([
  ["condition failed, unit never started", "ConditionResult=no\nConditionTimestampMonotonic=0\n", false],
  ["condition held", "ConditionResult=yes\nConditionTimestampMonotonic=12\n", false],
  ["condition failed at a start", "ConditionResult=no\nConditionTimestampMonotonic=12\n", true],
])("parseUnit: %s → conditionFailed", (_what, text, expected) => {
  expect(parseUnit(text).conditionFailed).toBe(expected);
});

describe("hiddenBy", () => {
  const OPEN = parseUnit("");
  test.each<[string, Partial<ServiceUnit>, string, string | null]>([
    ["home folder, ProtectHome=yes", { protectHome: "yes" }, "/home/tech/a.yaml", "ProtectHome=yes"],
    ["the folder itself", { protectHome: "tmpfs" }, "/root", "ProtectHome=tmpfs"],
    ["home folder, ProtectHome=read-only", { protectHome: "read-only" }, "/home/tech/a.yaml", null],
    ["folder with a longer name", { protectHome: "yes" }, "/homes/a.yaml", null],
    ["PrivateTmp", { hasPrivateTmp: true }, "/var/tmp/a.yaml", "PrivateTmp=yes"],
    ["InaccessiblePaths", { inaccessiblePaths: ["/srv/x"] }, "/srv/x/a.yaml", "InaccessiblePaths=/srv/x"],
    ["no setting", {}, "/home/tech/a.yaml", null],
  ])("%s", (_what, settings, path, expected) => {
    expect(hiddenBy({ ...OPEN, ...settings }, path)).toBe(expected);
  });
});

describe("readServiceUnit", () => {
  const booted = { ...systemFiles, stat: () => systemFiles.stat("/") };
  const ask = (result: ProgramResult) => readServiceUnit(booted, async () => result);

  test.each<[string, ProgramResult, object]>([
    [
      "systemctl answers",
      { kind: "ended", exitCode: 0, stdout: SHOWN, stderr: "" },
      { kind: "unit", unit: parseUnit(SHOWN), timer: null },
    ],
    ["systemctl missing", { kind: "missing" }, { kind: "no-systemd" }],
    ["no answer", { kind: "killed" }, { kind: "silent", detail: "systemctl does not answer" }],
    [
      "systemctl failed",
      { kind: "ended", exitCode: 1, stdout: "", stderr: "Failed to connect to bus\nmore\n" },
      { kind: "silent", detail: "Failed to connect to bus" },
    ],
  ])("%s", async (_what, result, expected) => {
    expect(await ask(result)).toEqual(expected);
  });

  test("systemd not booted → not asked", async () => {
    const absent = { ...systemFiles, stat: () => Promise.reject(Object.assign(new Error(), { code: "ENOENT" })) };
    const run: RunProgram = () => Promise.reject(new Error("asked"));
    expect(await readServiceUnit(absent, run)).toEqual({ kind: "no-systemd" });
  });
});
