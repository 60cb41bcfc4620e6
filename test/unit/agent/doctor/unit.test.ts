import { describe, expect, test } from "vitest";

import { hiddenBy, parseUnit } from "../../../../src/access/unit.ts";
import { credentialsOfUnit } from "../../../../src/agent/access/check-access.ts";
import { howToStart, judgeUnit } from "../../../../src/agent/doctor/daemon.ts";
import { judgeRoom } from "../../../../src/agent/doctor/state.ts";

const RUNNING = `LoadState=loaded
ActiveState=active
SubState=running
UnitFileState=enabled
Result=success
ExecMainStatus=0
NRestarts=0
NeedDaemonReload=no
ConditionResult=yes
ConditionTimestampMonotonic=1234
DropInPaths=
User=robot-policy-agent
SupplementaryGroups=
ProtectHome=read-only
PrivateTmp=yes
InaccessiblePaths=
`;

const unit = (text: string) => ({ kind: "unit", unit: parseUnit(text), timer: null }) as const;

const changed = (changes: Readonly<Record<string, string>>) =>
  Object.entries(changes).reduce(
    (lines, [name, value]) => lines.replace(new RegExp(`^${name}=.*$`, "m"), `${name}=${value}`),
    RUNNING,
  );
const judge = (changes: Readonly<Record<string, string>>) => judgeUnit(unit(changed(changes)), true);

describe("credentialsOfUnit: path of a key passed by systemd", () => {
  const folder = "/run/credentials/robot-policy-agent.service";
  const stopped = RUNNING.replace("ActiveState=active", "ActiveState=inactive");
  test.each([
    ["running service → its folder", RUNNING, "/var/lib/robot-policy-agent", folder],
    ["stopped service → none", stopped, "/var/lib/robot-policy-agent", null],
    ["agent with its own folders → none", RUNNING, "/home/tech/state", null],
  ])("%s", (_name, text, stateDirectory, expected) => {
    const agentUser = { unit: unit(text), account: null, relation: "root", probe: null, name: "" } as const;
    expect(credentialsOfUnit({ stateDirectory }, agentUser)).toBe(expected);
  });
});

describe("howToStart: command that starts a stopped agent", () => {
  const masked = RUNNING.replace("LoadState=loaded", "LoadState=masked");
  const stopped = RUNNING.replace("ActiveState=active", "ActiveState=inactive");
  test.each([
    ["with its own folders", unit(RUNNING), false, "robot-policy-agent run"],
    [
      "without systemd",
      { kind: "no-systemd" },
      true,
      "robot-policy-agent run, started by this machine's service manager",
    ],
    ["with a masked unit", unit(masked), true, "systemctl unmask robot-policy-agent"],
    ["with a stopped unit", unit(stopped), true, "systemctl start robot-policy-agent"],
    ["running, but not answering", unit(RUNNING), true, "systemctl restart robot-policy-agent"],
  ] as const)("%s", (_name, found, isOfTheseFolders, command) => {
    expect(howToStart(found, isOfTheseFolders)).toBe(command);
  });
});

describe("judgeUnit", () => {
  test.each([
    ["running", {}, "ok", "enabled and running"],
    ["with a drop-in", { DropInPaths: "/usr/lib/y.conf /etc/x.conf" }, "ok", "running, changed by /etc/x.conf"],
    ["not installed", { LoadState: "not-found" }, "warn", "there is no unit"],
    ["masked", { LoadState: "masked", UnitFileState: "masked" }, "fail", "masked"],
    ["broken", { LoadState: "bad-setting" }, "fail", "bad-setting"],
    ["edited and not reloaded", { NeedDaemonReload: "yes" }, "warn", "has not read it yet"],
    ["down", { ActiveState: "failed", Result: "exit-code", ExecMainStatus: "3" }, "fail", "exit-code 3"],
    [
      "waiting to be started again, before systemd 254",
      { ActiveState: "activating", SubState: "start-pre", NRestarts: "3" },
      "fail",
      "it ends and is started again, 3 times so far",
    ],
    ["starting", { ActiveState: "activating", SubState: "start-pre", NRestarts: "0" }, "warn", "it is activating"],
    [
      "waiting for its first restart",
      { ActiveState: "activating", SubState: "auto-restart", Result: "exit-code", ExecMainStatus: "1" },
      "fail",
      "it ends and is started again: exit-code 1",
    ],
    ["ended by the watchdog", { ActiveState: "failed", Result: "watchdog" }, "fail", "watchdog"],
    [
      "restarting repeatedly",
      { ActiveState: "activating", SubState: "auto-restart", Result: "oom-kill", NRestarts: "7" },
      "fail",
      "7 times so far: oom-kill",
    ],
    [
      "without configuration",
      { ActiveState: "inactive", ConditionResult: "no" },
      "warn",
      "configuration did not exist",
    ],
    ["stopped", { ActiveState: "inactive" }, "warn", "not running"],
    ["stopped and disabled", { ActiveState: "inactive", UnitFileState: "disabled" }, "warn", "not started at boot"],
    ["disabled", { UnitFileState: "disabled" }, "warn", "not start at the next boot"],
    ["restarted by systemd", { NRestarts: "1" }, "warn", "start it again once"],
  ] as const)("a unit that is %s", (_name, changes, status, what) => {
    const verdict = judge(changes);
    expect(verdict.status).toBe(status);
    expect(verdict.what).toContain(what);
  });

  test.each([
    ["looks", {}, {}, "ok", "a timer looks each minute"],
    ["stopped", { isActive: false }, {}, "warn", "systemctl start robot-policy-agent.timer"],
    ["not enabled", { isEnabled: false }, {}, "warn", "systemctl enable robot-policy-agent.timer"],
    ["failing", { lastResult: "timeout" }, {}, "fail", "journalctl -u robot-policy-agent-look"],
    ["enabled beside the service", {}, { UnitFileState: "enabled" }, "warn", "systemctl disable robot-policy-agent"],
    [
      "enabled beside the running service",
      { isActive: false },
      { UnitFileState: "enabled" },
      "warn",
      "systemctl disable robot-policy-agent.timer",
    ],
  ] as const)("a timer that is %s", (_name, changes, service, status, says) => {
    const timer = { isActive: true, isEnabled: true, lastLookMs: 1000, lastResult: "success", ...changes };
    const found = unit(changed({ ActiveState: "inactive", UnitFileState: "disabled", ...service }));
    const verdict = judgeUnit({ ...found, timer }, true);
    expect([verdict.status, `${verdict.what} ${verdict.remedy ?? ""}`]).toEqual([
      status,
      expect.stringContaining(says),
    ]);
  });

  test("no systemd, agent started by hand → no verdict", () => {
    expect(judgeUnit({ kind: "no-systemd" }, true).status).toBe("skip");
    expect(judgeUnit(unit(RUNNING), false).status).toBe("skip");
    expect(judgeUnit({ kind: "silent", detail: "no answer" }, true).status).toBe("warn");
  });
});

test.each([
  ["ProtectHome=yes", "/home/ann/a.json", "ProtectHome=yes"],
  ["ProtectHome=tmpfs", "/root/a.json", "ProtectHome=tmpfs"],
  ["ProtectHome=read-only", "/home/ann/a.json", null],
  ["ProtectHome=yes", "/homes/ann/a.json", null],
  ["PrivateTmp=yes", "/tmp/a.json", "PrivateTmp=yes"],
  ["PrivateTmp=no", "/tmp/a.json", null],
  ["InaccessiblePaths=-/srv /opt/closed", "/srv/a.json", "InaccessiblePaths=/srv"],
])("hiddenBy: %s, %s", (setting, path, hidden) => {
  expect(hiddenBy(parseUnit(setting), path)).toBe(hidden);
});

test.each([
  [{ bavail: 1000, ffree: 1_000_000 }, "warn", "df -h '/my state'"],
  [{ bavail: 1_000_000, ffree: 12 }, "warn", "df -i '/my state'"],
  [{ bavail: 1_000_000, ffree: 0, files: 0 }, "ok", ""],
  [{ bavail: 1_000_000, ffree: 1_000_000 }, "ok", ""],
] as const)("judgeRoom: %j → %s", (room, status, remedy) => {
  const verdict = judgeRoom("/my state", { bsize: 4096, files: 1_000_000, ...room });
  expect(verdict.status).toBe(status);
  expect(verdict.remedy ?? "").toContain(remedy);
});
