/** @module-tag needs/root */
import { appendFile, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { openRootedDisk } from "../../../src/installer/disk/rooted-disk.ts";
import type { RunProgram } from "../../../src/platform/programs.ts";
import { isRoot } from "../../support/programs/programs.ts";
import { breakingDisk, Killed } from "./breaking-disk.ts";
import { describeTree, openWorkshop, runInstall, runUninstall, type Setting, type Workshop } from "./image.ts";
import { type SimulatedSystemd, simulateSystemd } from "./simulated-systemd.ts";

const SERVICE = "robot-policy-agent.service";

describe.runIf(isRoot)("install on a running machine (needs root)", () => {
  let workshop: Workshop;
  let root: string;
  let systemd: SimulatedSystemd;
  let first: Setting;
  let second: Setting;
  beforeAll(async () => {
    workshop = await openWorkshop();
    const node = await workshop.makeNode();
    const later = await workshop.makeDistribution("1.1.0");
    await appendFile(join(later, "share/systemd", SERVICE), "# 1.1.0\n");
    first = { dist: await workshop.makeDistribution("1.0.0"), node };
    second = { dist: later, node, version: "1.1.0" };
  });
  beforeEach(async () => {
    root = await workshop.makeImage();
    systemd = await simulateSystemd(root);
  });
  afterAll(async () => workshop[Symbol.asyncDispose]());

  const here = (setting: Setting): Setting => ({ runProgram: systemd.runProgram, ...setting, root });
  async function configure(): Promise<void> {
    await mkdir(join(root, "etc/robot-policy-agent"), { recursive: true });
    await writeFile(join(root, "etc/robot-policy-agent/config.yaml"), "");
    await writeFile(join(root, "etc/robot-policy-agent/robot-manifest.yaml"), "");
  }

  test("first installation → creates the user, enables the unit, does not start it without a configuration", async () => {
    const { exitCode, stdout } = await runInstall({}, here(first));
    expect(exitCode).toBe(0);
    expect(systemd.done).toEqual(["systemd-sysusers", "daemon-reload", `enable ${SERVICE}`]);
    expect(stdout).toMatchInlineSnapshot(`
      "add the system user robot-policy-agent
      systemctl enable robot-policy-agent.service
      ok robot-policy-agent 1.0.0 is installed
      Next:
        1. sudo robot-policy-agent init
        2. sudo robot-policy-agent enroll  # or, with an API key: sudo robot-policy-agent set-key
        3. sudo robot-policy-agent check
        4. sudo systemctl start robot-policy-agent
      "
    `);
  });

  test("--dry-run without a running systemd → the whole plan, and why it cannot be applied", async () => {
    await rm(join(root, "run/systemd/system"), { recursive: true });
    const before = describeTree(root);
    const { exitCode, stdout, stderr } = await runInstall({ dryRun: true }, here(first));
    expect(exitCode).toBe(1);
    expect(stdout).toContain("would add the system user robot-policy-agent\n");
    expect(stdout).toContain("would link /usr/local/bin/robot-policy-agent");
    expect(stderr).toContain("[no-systemd]");
    expect(describeTree(root)).toEqual(before);
    expect(systemd.done).toEqual([]);
    expect((await runInstall({}, here(first))).stdout).toBe("");
  });

  test.each([
    ["valid configuration → started", true, ["start"]],
    ["invalid configuration → not started, exit code 0", false, []],
  ])("%s", async (_what, isValid, verbs) => {
    await configure();
    systemd.isConfigurationValid = isValid;
    const { exitCode } = await runInstall({}, here(first));
    expect(exitCode).toBe(0);
    expect(systemd.done.slice(3)).toEqual(verbs.map((verb) => `${verb} ${SERVICE}`));
  });

  test.each([
    [{ start: false }, ["systemd-sysusers", "daemon-reload", `enable ${SERVICE}`]],
    [{ enable: false }, ["systemd-sysusers", "daemon-reload", `start ${SERVICE}`]],
    [
      { firstBoot: true, start: false },
      ["systemd-sysusers", "daemon-reload", "enable robot-policy-agent-setup.service", `enable ${SERVICE}`],
    ],
  ])("%o → runs %o", async (options, commands) => {
    await configure();
    await runInstall(options, here(first));
    expect(systemd.done).toEqual(commands);
  });

  test("second run → no change through systemd", async () => {
    await runInstall({}, here(first));
    systemd.done.splice(0);
    const { stdout } = await runInstall({}, here(first));
    expect(stdout).toContain("Nothing to change");
    expect(systemd.done).toEqual([]);
  });

  test("upgrade → restarts a running agent with the new program, clears the compile cache", async () => {
    await configure();
    await runInstall({}, here(first));
    const compiled = join(root, "var/cache/robot-policy-agent/v26");
    await mkdir(compiled, { recursive: true });
    await writeFile(join(compiled, "old"), "");
    systemd.done.splice(0);
    const runProgram: RunProgram = async (argv, options) => {
      if (argv.includes("restart")) {
        await mkdir(compiled, { recursive: true });
        await writeFile(join(compiled, "new"), "");
      }
      return systemd.runProgram(argv, options);
    };
    await runInstall({}, here({ ...second, runProgram }));
    expect(systemd.done).toEqual(["daemon-reload", `restart ${SERVICE}`]);
    expect(systemd.running.get(SERVICE)).toContain("1.1.0");
    expect(await readdir(compiled)).toEqual(["new"]);
  });

  test("upgrades without a restart → the version that runs stays on the disk; the next run restarts", async () => {
    await configure();
    await runInstall({}, here(first));
    const third = { ...first, dist: await workshop.makeDistribution("1.2.0"), version: "1.2.0" };
    await runInstall({ start: false }, here(second));
    const { stdout } = await runInstall({ start: false }, here(third));
    expect(stdout).toContain("sudo systemctl restart robot-policy-agent\n");
    expect(systemd.running.get(SERVICE)).toContain("1.0.0");
    const versions = async () => (await readdir(join(root, "usr/local/lib/robot-policy-agent/versions"))).toSorted();
    expect((await versions()).map((id) => id.split("-")[0])).toEqual(["1.0.0", "1.1.0", "1.2.0"]);
    systemd.done.splice(0);
    await runInstall({}, here(third));
    expect(systemd.done).toEqual(["daemon-reload", `restart ${SERVICE}`]);
    expect(systemd.running.get(SERVICE)).toContain("1.2.0");
    expect((await versions()).map((id) => id.split("-")[0])).toEqual(["1.0.0", "1.2.0"]);
  });

  test("key for an agent that runs as another user → belongs to that user", async () => {
    await runInstall({}, here(first));
    await mkdir(join(root, "etc/systemd/system", `${SERVICE}.d`), { recursive: true });
    await writeFile(join(root, "etc/systemd/system", `${SERVICE}.d/50-grant.conf`), "[Service]\nUser=messagebus\n");
    await runInstall({ keyStdin: true }, here({ ...first, input: "sk_test_0123456789abcdef" }));
    const { uid, gid } = await stat(join(root, "etc/robot-policy-agent/api-key"));
    expect([uid, gid]).toEqual([999, 998]);
    const again = await runInstall({ keyStdin: true }, here({ ...first, input: "sk_test_0123456789abcdef" }));
    expect(again.stdout).toContain("Nothing to change");
  });

  test("upgrade of a stopped, disabled unit → neither started nor enabled", async () => {
    await configure();
    await runInstall({}, here(first));
    systemd.running.clear();
    await rm(join(root, "etc/systemd/system/multi-user.target.wants", SERVICE));
    systemd.done.splice(0);
    await runInstall({}, here(second));
    expect(systemd.done).toEqual(["daemon-reload"]);
  });

  test("masked unit → neither enabled nor started", async () => {
    await configure();
    await mkdir(join(root, "etc/systemd/system"), { recursive: true });
    await symlink("/dev/null", join(root, "etc/systemd/system", SERVICE));
    const { stdout } = await runInstall({}, here(first));
    expect(systemd.done).toEqual(["systemd-sysusers", "daemon-reload"]);
    expect(stdout.slice(stdout.indexOf("Next:"))).toMatchInlineSnapshot(`
      "Next:
        1. sudo systemctl unmask robot-policy-agent.service
        2. sudo robot-policy-agent enroll  # or, with an API key: sudo robot-policy-agent set-key
        3. sudo robot-policy-agent check
        4. sudo systemctl enable --now robot-policy-agent
      "
    `);
  });

  test("new version does not start → removed, the previous one runs again", async () => {
    await configure();
    await runInstall({}, here(first));
    const before = describeTree(root);
    systemd.refusals.set(`restart ${SERVICE}`, "Job for robot-policy-agent.service failed.");
    const { exitCode, stderr } = await runInstall({}, here(second));
    expect(exitCode).toBe(1);
    expect(stderr).toContain("Job for robot-policy-agent.service failed.");
    // The last restart is that of the previous version.
    expect(systemd.done.slice(-3)).toEqual([`restart ${SERVICE}`, "daemon-reload", `restart ${SERVICE}`]);
    expect(describeTree(root)).toEqual(before);
    systemd.refusals.clear();
    expect((await runInstall({}, here(second))).exitCode).toBe(0);
    expect(systemd.running.get(SERVICE)).toContain("1.1.0");
  });

  test("new version with a further unit file does not start → that file is removed, too", async () => {
    await configure();
    const library = join(root, "usr/lib/systemd/libsystemd-shared");
    await rename(`${library}-257.so`, `${library}-252.so`);
    // A folder that an installation makes stays until it is uninstalled.
    await mkdir(join(root, "usr/local/lib/systemd/system", `${SERVICE}.d`), { recursive: true });
    await runInstall({}, here(first));
    const before = describeTree(root);
    await rename(`${library}-252.so`, `${library}-254.so`);
    systemd.refusals.set(`restart ${SERVICE}`, "Job for robot-policy-agent.service failed.");
    await runInstall({}, here(second));
    await rename(`${library}-254.so`, `${library}-252.so`);
    expect(describeTree(root)).toEqual(before);
  });

  test("version with a unit file less → the units are reloaded without it, and with it if the version does not start", async () => {
    await configure();
    const library = join(root, "usr/lib/systemd/libsystemd-shared");
    const dropIns = join(root, "usr/local/lib/systemd/system", `${SERVICE}.d`);
    await runInstall({}, here(first));
    const before = describeTree(root);
    await rename(`${library}-257.so`, `${library}-252.so`);
    systemd.refusals.set(`restart ${SERVICE}`, "Job for robot-policy-agent.service failed.");
    await runInstall({}, here(first));
    systemd.refusals.clear();
    await rename(`${library}-252.so`, `${library}-257.so`);
    expect(describeTree(root)).toEqual(before);

    await rename(`${library}-257.so`, `${library}-252.so`);
    const loaded: string[][] = [];
    const runProgram: RunProgram = async (argv, options) => {
      if (argv.includes("daemon-reload")) loaded.push(await readdir(dropIns).catch(() => []));
      return systemd.runProgram(argv, options);
    };
    await runInstall({}, here({ ...first, runProgram }));
    expect(loaded).toEqual([[]]);
  });

  test("upgrade killed before the switch, then the old version does not restart → it stays installed", async () => {
    await configure();
    await runInstall({}, here(first));
    const program = join(root, "usr/local/lib/robot-policy-agent");
    const current = await readlink(join(program, "current"));
    const openDisk: Setting["openDisk"] = async (path) => {
      const disk = await openRootedDisk(path);
      if (path !== root) return disk;
      return { ...disk, makeSymbolicLink: (link, target) => Promise.reject(new Killed(`${link} → ${target}`)) };
    };
    await expect(runInstall({}, here({ ...second, openDisk }))).rejects.toThrow(Killed);
    systemd.refusals.set(`restart ${SERVICE}`, "Job for robot-policy-agent.service failed.");
    expect((await runInstall({}, here(first))).exitCode).toBe(1);
    expect(await readFile(join(program, "current/lib/zod.cjs"), "utf8")).toContain('"1.');
    systemd.refusals.clear();
    expect((await runInstall({}, here(first))).exitCode).toBe(0);
    expect(await readlink(join(program, "current"))).toBe(current);
    expect(systemd.running.get(SERVICE)).toContain("1.0.0");
  });

  test.each([
    ["daemon-reload", "Failed to reload daemon: Access denied"],
    [`enable ${SERVICE}`, "Failed to enable unit: Read-only file system"],
  ])("systemctl %s fails → reported, completed by the next run", async (command, reason) => {
    let isFirst = true;
    const failOnce: RunProgram = async (argv, options) => {
      if (!isFirst || !argv.join(" ").endsWith(command)) return systemd.runProgram(argv, options);
      isFirst = false;
      return { kind: "ended", exitCode: 1, stdout: "", stderr: `${reason}\n` };
    };
    const { exitCode, stderr } = await runInstall({}, { ...here(first), runProgram: failOnce });
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`${reason} [not-installed]\n  → fix the cause`);
    systemd.done.splice(0);
    expect((await runInstall({}, here(first))).exitCode).toBe(0);
    expect(systemd.done).toContain(`enable ${SERVICE}`);
  });

  test("upgrade interrupted before daemon-reload → the next run reloads", async () => {
    await configure();
    await runInstall({}, here(first));
    systemd.refusals.set("daemon-reload", "Access denied");
    expect((await runInstall({}, here(second))).exitCode).toBe(1);
    systemd.refusals.clear();
    systemd.done.splice(0);
    expect((await runInstall({}, here(second))).exitCode).toBe(0);
    expect(systemd.done).toEqual(["daemon-reload", `restart ${SERVICE}`]);
  });

  test("upgrade killed after the switch, then a third version does not start → the version that ran last runs again", async () => {
    await configure();
    await runInstall({}, here(first));
    const current = join(root, "usr/local/lib/robot-policy-agent/current");
    const ran = await readlink(current);
    const killed: RunProgram = (argv, options) =>
      argv.includes("restart") ? Promise.reject(new Killed("restart")) : systemd.runProgram(argv, options);
    await expect(runInstall({}, { ...here(second), runProgram: killed })).rejects.toThrow(Killed);
    expect(await readlink(current)).not.toBe(ran);
    systemd.refusals.set(`restart ${SERVICE}`, "Job for robot-policy-agent.service failed.");
    const third = { ...second, dist: await workshop.makeDistribution("1.2.0"), version: "1.2.0" };
    expect((await runInstall({}, here(third))).exitCode).toBe(1);
    expect(await readlink(current)).toBe(ran);
  });

  test("start fails → reported with exit code 1, the installation stays", async () => {
    await configure();
    systemd.refusals.set(`start ${SERVICE}`, "Job failed.");
    const { exitCode, stderr } = await runInstall({}, here(first));
    expect(exitCode).toBe(1);
    expect(stderr).toContain("[start-failed]");
    systemd.refusals.clear();
    expect((await runInstall({}, here(first))).stdout).toContain("Nothing to change");
  });

  test("killed after the restart → the next run completes the upgrade", async () => {
    await configure();
    await runInstall({}, here(first));
    // Afterwards both versions are on the disk, and each further upgrade makes the same changes.
    await runInstall({}, here(second));
    await runInstall({}, here(first));
    const counting = breakingDisk(root, null);
    await runInstall({}, here({ ...second, openDisk: counting.openDisk }));
    await runInstall({}, here(first));
    systemd.done.splice(0);
    const { openDisk } = breakingDisk(root, { kind: "killed", at: counting.count() - 1 });
    await expect(runInstall({}, here({ ...second, openDisk }))).rejects.toThrow(Killed);
    expect(systemd.done).toEqual(["daemon-reload", `restart ${SERVICE}`]);
    expect((await runInstall({}, here(second))).exitCode).toBe(0);
    expect(systemd.running.get(SERVICE)).toContain("1.1.0");
    const tree = describeTree(root);
    expect(tree.filter((line) => line.includes("robot-policy-agent-") && /-(?:before|new) /.test(line))).toEqual([]);
  });

  test("repair killed at any moment → the next run reloads the units and restarts the agent", async () => {
    await configure();
    await runInstall({}, here(first));
    const program = join(root, "usr/local/lib/robot-policy-agent");
    const damage = async () => {
      await rm(join(root, "usr/local/lib/systemd/system", SERVICE));
      await writeFile(join(program, "current/lib/zod.cjs"), "damaged");
    };
    const repair = (setting: Partial<Setting>) => runInstall({}, here({ ...first, ...setting }));
    await damage();
    const counting = breakingDisk(root, null);
    await repair({ openDisk: counting.openDisk });
    const whole = describeTree(root);
    for (let at = 0; at < counting.count(); at += 1) {
      await damage();
      systemd.done.splice(0);
      await expect(repair({ openDisk: breakingDisk(root, { kind: "killed", at }).openDisk })).rejects.toThrow(Killed);
      expect((await repair({})).exitCode).toBe(0);
      // At the last changes, the killed run had restarted the agent itself.
      expect(systemd.done.slice(-2), `killed at change ${at}`).toEqual(["daemon-reload", `restart ${SERVICE}`]);
      expect(describeTree(root)).toEqual(whole);
    }
  });

  test("repair killed of an agent whose unit is disabled → still disabled after the next run", async () => {
    await configure();
    await runInstall({}, here(first));
    await rm(join(root, "etc/systemd/system/multi-user.target.wants", SERVICE));
    await rm(join(root, "usr/local/lib/systemd/system", SERVICE));
    systemd.refusals.set("daemon-reload", "Access denied");
    await runInstall({}, here(first));
    systemd.refusals.clear();
    systemd.done.splice(0);
    expect((await runInstall({}, here(first))).exitCode).toBe(0);
    expect(systemd.done).toEqual(["daemon-reload", `restart ${SERVICE}`]);
  });

  test("uninstall → stops, disables and removes; a repeat changes nothing", async () => {
    await configure();
    await runInstall({}, here(first));
    await mkdir(join(root, "var/cache/robot-policy-agent/compiled"), { recursive: true });
    systemd.done.splice(0);
    const { stdout: planned } = await runUninstall({ dryRun: true }, here(first));
    const { exitCode, stdout } = await runUninstall({}, here(first));
    expect(stdout.slice(stdout.indexOf("Left:"))).toBe(planned.slice(planned.indexOf("Left:")));
    expect(exitCode).toBe(0);
    expect(systemd.done).toEqual([`stop ${SERVICE}`, `disable ${SERVICE}`, "daemon-reload"]);
    expect(stdout.slice(stdout.indexOf("ok "))).toMatchInlineSnapshot(`
      "ok robot-policy-agent is removed
      Left: /etc/robot-policy-agent, /var/lib/robot-policy-agent, the user robot-policy-agent. To remove that too, as root:
        rm -r /etc/robot-policy-agent /var/lib/robot-policy-agent; userdel robot-policy-agent
      "
    `);
    systemd.done.splice(0);
    expect((await runUninstall({}, here(first))).stdout).toContain("Nothing to remove");
    const { stdout: json } = await runUninstall({ json: true }, here(first));
    expect(JSON.parse(json)).toMatchObject({ changed: false, changes: [] });
    expect(systemd.done).toEqual([]);
  });

  test("uninstall: unit that failed → reset, so that systemd forgets it", async () => {
    await runInstall({}, here(first));
    systemd.done.splice(0);
    const failed: RunProgram = async (argv, options) => {
      const result = await systemd.runProgram(argv, options);
      if (!argv.includes("robot-policy-agent-setup.service") || result.kind !== "ended") return result;
      return { ...result, stdout: result.stdout.replace("ActiveState=inactive", "ActiveState=failed") };
    };
    await runUninstall({}, here({ ...first, runProgram: failed }));
    expect(systemd.done).toEqual([
      "reset-failed robot-policy-agent-setup.service",
      `disable ${SERVICE}`,
      "daemon-reload",
    ]);
  });

  test("uninstall --purge → only a folder that systemctl made remains", async () => {
    const before = describeTree(root);
    await runInstall({ keyStdin: true }, here({ ...first, input: "sk_test_0123456789abcdef" }));
    await configure();
    await mkdir(join(root, "etc/systemd/system", `${SERVICE}.d`), { recursive: true });
    await writeFile(join(root, "etc/systemd/system", `${SERVICE}.d/local.conf`), "[Service]\n");
    await runUninstall({ purge: true }, here(first));
    const left = describeTree(root).filter((line) => !before.includes(line));
    // `systemctl enable` made this folder; it is empty.
    expect(left.map((line) => line.split(" ")[0])).toEqual(["/etc/systemd/system/multi-user.target.wants/"]);
    expect(await readFile(join(root, "etc/passwd"), "utf8")).not.toContain("robot-policy-agent");
  });

  test("uninstall killed before daemon-reload → a repeat reloads", async () => {
    await configure();
    await runInstall({}, here(first));
    const killedAtReload: RunProgram = (argv, options) => {
      if (argv.includes("daemon-reload")) throw new Killed();
      return systemd.runProgram(argv, options);
    };
    await expect(runUninstall({}, here({ ...first, runProgram: killedAtReload }))).rejects.toThrow(Killed);
    systemd.done.splice(0);
    expect((await runUninstall({}, here(first))).exitCode).toBe(0);
    expect(systemd.done).toEqual(["daemon-reload"]);
  });

  test("uninstall: service does not stop → nothing removed, completed by a repeat", async () => {
    await configure();
    await runInstall({}, here(first));
    const before = describeTree(root);
    systemd.refusals.set(`stop ${SERVICE}`, "Job timed out.");
    const { exitCode, stderr } = await runUninstall({}, here(first));
    expect(exitCode).toBe(1);
    expect(stderr).toContain("Job timed out.");
    expect(describeTree(root)).toEqual(before);
    systemd.refusals.clear();
    expect((await runUninstall({}, here(first))).exitCode).toBe(0);
  });
});
