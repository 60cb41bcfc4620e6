/** @module-tag needs/program */
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

import { execute } from "../../support/programs/execute.ts";
import { hasProgram } from "../../support/programs/programs.ts";

const SYSTEMD = join(import.meta.dirname, "../../../systemd");
const AGENT = "robot-policy-agent.service";
const SETUP = "robot-policy-agent-setup.service";
const LOOK = "robot-policy-agent-look.service";

/** Settings that systemd 252 (Debian 12) does not know, so that it would log a warning at each reload. */
const NEWER_SETTINGS = /^(?:RestartSteps|RestartMaxDelaySec|RestartMode|ImportCredential|ProtectHostname=private)\b/m;

describe.each([AGENT, SETUP, LOOK])("%s", (unit) => {
  it.skipIf(!hasProgram("systemd-analyze"))("scenario 43: systemd-analyze → exposure 2.0 at most", async () => {
    const { stdout } = await execute([
      "systemd-analyze",
      "security",
      "--offline=yes",
      "--no-pager",
      join(SYSTEMD, unit),
    ]);
    const [, exposure] = /Overall exposure level for \S+: (\d+\.\d+)/.exec(stdout) ?? [];
    expect(Number(exposure)).toBeLessThanOrEqual(2);
  });

  it.skipIf(!hasProgram("systemd-analyze"))("systemd-analyze verify → no warnings", async () => {
    const folder = await mkdtemp(join(tmpdir(), "units-"));
    try {
      await copyFile(join(SYSTEMD, unit), join(folder, unit));
      const { stdout, stderr } = await execute(["systemd-analyze", "verify", "--man=no", join(folder, unit)], {
        may_fail: true,
      });
      // Programs that are not installed here are not a fault of the unit.
      const complaints = `${stdout}${stderr}`.split("\n").filter((line) => line.includes(unit));
      expect(
        complaints.filter((line) => !line.includes("Command /usr/bin/robot-policy-agent is not executable")),
      ).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("settings → known to systemd 252", async () => {
    expect(await readFile(join(SYSTEMD, unit), "utf8")).not.toMatch(NEWER_SETTINGS);
  });

  it("dependencies → no network target", async () => {
    const others = (await settings(unit, "Unit")).filter(([name]) =>
      /^(After|Wants|Requires|Requisite|BindsTo)$/.test(name),
    );
    expect(others.length).toBeGreaterThan(0);
    expect(others.flat().join(" ")).not.toMatch(/\bnetwork(-online|-pre)?\.target|\bnetworking\.service|wait-online/);
  });

  it("no configuration → skipped, not failed", async () => {
    expect(await settings(unit, "Unit")).toContainEqual(["ConditionPathExists", "/etc/robot-policy-agent/config.yaml"]);
  });

  it("TimeoutStopSec → 10 s", async () => {
    expect(await settings(unit, "Service")).toContainEqual(["TimeoutStopSec", "10"]);
  });
});

describe("all units", () => {
  it("confinement → the same in all", async () => {
    const [agent, setup, look] = await Promise.all([AGENT, SETUP, LOOK].map((unit) => settings(unit, "Service")));
    expect(confinement(setup)).toEqual(confinement(agent));
    expect(confinement(look)).toEqual(confinement(agent));
    expect(confinement(agent).length).toBeGreaterThan(30);
  });

  it("scenario 16: LimitCORE → 0, because a core dump would contain the key", async () => {
    for (const unit of [AGENT, SETUP, LOOK]) expect(await settings(unit, "Service")).toContainEqual(["LimitCORE", "0"]);
  });
});

describe("lines of systemd's own", () => {
  it("LoadCredential → in an example only: systemd complains of a missing credential at every start", async () => {
    expect(await settings("credential-store.conf", "Service")).toEqual([
      ["LoadCredential", "api-key:robot-policy-agent.api-key"],
    ]);
    const units = await Promise.all([AGENT, SETUP, LOOK].map((unit) => settings(unit, "Service")));
    expect(units.flat().filter(([name]) => name.includes("Credential"))).toEqual([]);
  });

  it.each([AGENT, SETUP, LOOK, "robot-policy-service.service", "robot-policy-service-backup.service"])(
    "%s: exit codes → those without a misleading name",
    async (unit) => {
      expect(await settings(unit, "Service")).toContainEqual(["Environment", "ROBOT_POLICY_EXIT_CODES=sysexits"]);
    },
  );

  it("the first boot is not repeated after a wrong command, or a registration of another machine", async () => {
    expect(await settings(SETUP, "Service")).toContainEqual(["RestartPreventExitStatus", "2 79"]);
  });
});

describe("robot-policy-agent.timer", () => {
  it("a look each minute, within the second, in place of the service", async () => {
    expect(await settings("robot-policy-agent.timer", "Timer")).toEqual([
      ["OnActiveSec", "1s"],
      ["OnUnitActiveSec", "1min"],
      ["AccuracySec", "1s"],
      ["Unit", LOOK],
    ]);
    expect(await settings("robot-policy-agent.timer", "Unit")).toContainEqual(["Conflicts", AGENT]);
    expect(await settings(LOOK, "Service")).toEqual(
      expect.arrayContaining([
        ["Type", "oneshot"],
        ["TimeoutStartSec", "30"],
        ["LogLevelMax", "notice"],
      ]),
    );
  });
});

describe("drop-in for systemd 254", () => {
  it("restart delay → grows from RestartSec to five minutes", async () => {
    expect(await settings("growing-delay.conf", "Service")).toEqual([
      ["ExecStartPre", ""],
      ["RestartSteps", "8"],
      ["RestartMaxDelaySec", "5min"],
    ]);
    expect(await settings(AGENT, "Service")).toContainEqual(["RestartSec", "10"]);
    expect(await settings(AGENT, "Unit")).toContainEqual(["StartLimitIntervalSec", "0"]);
  });
});

type Setting = readonly [name: string, value: string];

/** The settings of a section, in order. */
async function settings(file: string, section: string): Promise<readonly Setting[]> {
  const text = await readFile(join(SYSTEMD, file), "utf8");
  const [, body = ""] = text.split(`[${section}]\n`);
  const [own = ""] = body.split(/^\[/m);
  return own.split("\n").flatMap((line) => {
    const [, name, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value] as const];
  });
}

/** From the first limit to the end of the section; both units are written this way. */
function confinement(service: readonly Setting[] = []): readonly Setting[] {
  return service.slice(service.findIndex(([name]) => name === "Nice"));
}
