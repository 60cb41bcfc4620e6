/** @module-tag needs/root */
import { appendFile, mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { RunProgram } from "../../../src/platform/programs.ts";
import { isRoot } from "../../support/programs/programs.ts";
import { breakMachine, Killed } from "./breaking-machine.ts";
import { describeTree, openWorkshop, runInstall, runUninstall, type Setting, type Workshop } from "./image.ts";
import { type SimulatedSystemd, simulateSystemd } from "./simulated-systemd.ts";

const SERVICE = "robot-policy-agent.service";
const FIRST_BOOT = "robot-policy-agent-setup.service";
const TIMER = "robot-policy-agent.timer";
const LOOK = "robot-policy-agent-look.service";
const FIRST_STEPS = ["systemd-sysusers", "daemon-reload", `enable ${SERVICE}`];
const RESTART = ["daemon-reload", `restart ${SERVICE}`];
const FAILURE = "Job for robot-policy-agent.service failed.";

describe.runIf(isRoot)("on a running machine (needs root)", () => {
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
  const current = () => join(root, "usr/local/lib/robot-policy-agent/current");
  const runningVersion = () => /\d\.\d\.\d/.exec(systemd.running.get(SERVICE) ?? "")?.[0];

  async function configure(): Promise<void> {
    await mkdir(join(root, "etc/robot-policy-agent"), { recursive: true });
    for (const name of ["config.yaml", "robot-manifest.yaml", "api-key"])
      await writeFile(join(root, "etc/robot-policy-agent", name), "");
  }

  /** Installs the first version, running. */
  async function installFirst(): Promise<void> {
    await configure();
    await runInstall({}, here(first));
    expect(runningVersion()).toBe("1.0.0");
    systemd.done.splice(0);
  }

  test("first installation → creates the user, enables the unit; without a configuration the unit stays inactive", async () => {
    const { exitCode, stdout } = await runInstall({}, here(first));
    expect(exitCode).toBe(0);
    expect(systemd.done).toEqual([...FIRST_STEPS, `start ${SERVICE}`]);
    expect(systemd.running).toEqual(new Map());
    expect(stdout).toMatchInlineSnapshot(`
      "add the system user robot-policy-agent
      systemctl enable robot-policy-agent.service
      systemctl start robot-policy-agent.service
      ok robot-policy-agent 1.0.0 is installed
      Next:
        1. sudo robot-policy-agent init
        2. sudo robot-policy-agent enroll  # or, with an API key: sudo robot-policy-agent set-key
        3. sudo robot-policy-agent check
        4. sudo systemctl start robot-policy-agent
      "
    `);
    systemd.done.splice(0);
    expect((await runInstall({}, here(first))).stdout).toContain("Nothing to change");
    expect(systemd.done).toEqual([]);
  });

  test("first installation with a configuration → started; status is next", async () => {
    await configure();
    const { stdout } = await runInstall({ firstBoot: true }, here(first));
    expect(systemd.done).toEqual([...FIRST_STEPS.toSpliced(2, 0, `enable ${FIRST_BOOT}`), `start ${SERVICE}`]);
    expect(stdout).toContain("Next:\n  1. sudo robot-policy-agent status\n");
  });

  test("no running systemd → refused", async () => {
    await rm(join(root, "run/systemd/system"), { recursive: true });
    expect((await runInstall({}, here(first))).stderr).toContain("[no-systemd]");
  });

  test("upgrade → restarts a running agent with the new program, clears the compile cache", async () => {
    await installFirst();
    const compiled = join(root, "var/cache/robot-policy-agent");
    await mkdir(compiled, { recursive: true });
    await writeFile(join(compiled, "old"), "");
    const runProgram: RunProgram = async (argv, options) => {
      if (argv.includes("restart")) {
        await mkdir(compiled, { recursive: true });
        await writeFile(join(compiled, "new"), "");
      }
      return systemd.runProgram(argv, options);
    };
    await runInstall({}, here({ ...second, runProgram }));
    expect(systemd.done).toEqual(RESTART);
    expect(runningVersion()).toBe("1.1.0");
    expect(await readdir(compiled)).toEqual(["new"]);
  });

  test("upgrade of a stopped, disabled unit → neither started nor enabled", async () => {
    await installFirst();
    systemd.running.clear();
    await rm(join(root, "etc/systemd/system/multi-user.target.wants", SERVICE));
    await runInstall({}, here(second));
    expect(systemd.done).toEqual(["daemon-reload"]);
  });

  test("masked unit → neither enabled nor started", async () => {
    await configure();
    await symlink("/dev/null", join(root, "etc/systemd/system", SERVICE));
    expect((await runInstall({}, here(first))).exitCode).toBe(0);
    expect(systemd.done).toEqual(["systemd-sysusers", "daemon-reload"]);
  });

  describe("--on-demand", () => {
    async function wanted(): Promise<readonly string[]> {
      const folders = ["multi-user", "timers"].map((each) => join(root, `etc/systemd/system/${each}.target.wants`));
      return (await Promise.all(folders.map((folder) => readdir(folder).catch(() => [])))).flat();
    }

    test("first installation → the timer alone, after a look", async () => {
      await configure();
      const { stdout } = await runInstall({ onDemand: true }, here(first));
      expect(systemd.done).toEqual([...FIRST_STEPS.slice(0, 2), `enable ${TIMER}`, `start ${LOOK}`, `start ${TIMER}`]);
      expect([await wanted(), [...systemd.running.keys()]]).toEqual([[TIMER], [TIMER]]);
      expect(stdout).toContain("Next:\n  1. sudo robot-policy-agent status\n");
    });

    test("back and forth → one of both is enabled and at work; --dry-run only shows it", async () => {
      await installFirst();
      const dry = await runInstall({ onDemand: true, dryRun: true }, here(first));
      expect(dry.stdout).toContain(
        `would systemctl stop ${SERVICE}\nwould systemctl disable ${SERVICE}\nwould systemctl enable ${TIMER}`,
      );
      expect(systemd.done).toEqual([]);
      for (const [options, unit, other, starts] of [
        [{ onDemand: true }, TIMER, SERVICE, [`start ${LOOK}`, `start ${TIMER}`]],
        [{ resident: true }, SERVICE, TIMER, [`start ${SERVICE}`]],
        [{ onDemand: true }, TIMER, SERVICE, [`start ${LOOK}`, `start ${TIMER}`]],
      ] as const) {
        expect((await runInstall(options, here(first))).exitCode).toBe(0);
        expect(systemd.done.splice(0)).toEqual([`stop ${other}`, `disable ${other}`, `enable ${unit}`, ...starts]);
        expect([await wanted(), [...systemd.running.keys()]]).toEqual([[unit], [unit]]);
        expect((await runInstall(options, here(first))).stdout).toContain("Nothing to change");
      }
    });

    test("upgrade → the timer stays; a version that does not look is taken back", async () => {
      await configure();
      await runInstall({ onDemand: true }, here(first));
      systemd.done.splice(0);
      const runProgram = failOnce(`start ${LOOK}`, FAILURE);
      expect((await runInstall({}, here({ ...second, runProgram }))).stderr).toContain("[taken-back]");
      expect(await readlink(current())).toContain("1.0.0");
      systemd.done.splice(0);
      expect((await runInstall({}, here(second))).exitCode).toBe(0);
      expect(systemd.done).toEqual(["daemon-reload", `start ${LOOK}`, `start ${TIMER}`]);
      expect(await wanted()).toEqual([TIMER]);
    });

    test("killed at any moment → the next run completes it", async () => {
      await installFirst();
      const counting = breakMachine(null, systemd.runProgram);
      await runInstall({ onDemand: true }, here({ ...first, ...counting }));
      for (let at = 0; at < counting.count(); at += 1) {
        await runInstall({ resident: true }, here(first));
        const broken = breakMachine({ kind: "killed", at }, systemd.runProgram);
        await expect(runInstall({ onDemand: true }, here({ ...first, ...broken }))).rejects.toThrow(Killed);
        expect((await runInstall({ onDemand: true }, here(first))).exitCode).toBe(0);
        expect([await wanted(), [...systemd.running.keys()]], `killed at change ${at}`).toEqual([[TIMER], [TIMER]]);
      }
    });

    test("masked → refused, and the service stays; uninstall → stops and disables the timer", async () => {
      await installFirst();
      const mask = join(root, "etc/systemd/system", TIMER);
      await symlink("/dev/null", mask);
      expect((await runInstall({ onDemand: true }, here(first))).stderr).toContain("[masked]");
      expect(await wanted()).toEqual([SERVICE]);
      await rm(mask);
      await runInstall({ onDemand: true }, here(first));
      systemd.done.splice(0);
      await runUninstall({}, here(first));
      expect(systemd.done).toEqual([`stop ${TIMER}`, `disable ${TIMER}`, "daemon-reload"]);
      expect(await wanted()).toEqual([]);
    });
  });

  test("key for an agent that runs as another user → belongs to that user", async () => {
    const input = "sk_test_0123456789abcdef";
    await runInstall({}, here(first));
    await mkdir(join(root, "etc/systemd/system", `${SERVICE}.d`), { recursive: true });
    await writeFile(join(root, "etc/systemd/system", `${SERVICE}.d/50-grant.conf`), "[Service]\nUser=messagebus\n");
    await runInstall({ keyFile: "-" }, here({ ...first, input }));
    const { uid, gid } = await stat(join(root, "etc/robot-policy-agent/api-key"));
    expect([uid, gid]).toEqual([999, 998]);
    expect((await runInstall({ keyFile: "-" }, here({ ...first, input }))).stdout).toContain("Nothing to change");
  });

  describe("a version that does not start", () => {
    test("upgrade → taken back, the previous one runs again; the next run tries it again", async () => {
      await installFirst();
      const before = describeTree(root);
      systemd.refusals.set(`restart ${SERVICE}`, FAILURE);
      const { exitCode, stderr } = await runInstall({}, here(second));
      // The previous version does not restart either: it stays in place.
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining("[not-put-back]")]);
      expect(await readlink(current())).toContain("1.0.0");
      systemd.refusals.clear();

      const runProgram = failOnce(`restart ${SERVICE}`, FAILURE);
      const taken = await runInstall({}, here({ ...second, runProgram }));
      expect([taken.exitCode, taken.stderr]).toEqual([1, expect.stringContaining(`${FAILURE} [taken-back]`)]);
      expect(systemd.done.slice(-2)).toEqual(RESTART);
      expect(runningVersion()).toBe("1.0.0");
      expect(describeTree(root)).toEqual(before);
      expect((await runInstall({}, here(second))).exitCode).toBe(0);
      expect(runningVersion()).toBe("1.1.0");
    });

    test("with a file less than the version before → that file is back", async () => {
      await installFirst();
      const completion = join(root, "usr/local/share/zsh/site-functions/_robot-policy-agent");
      const completions = new Map([["bash", "# bash\n"]] as const);
      const runProgram = failOnce(`restart ${SERVICE}`, FAILURE);
      await runInstall({}, here({ ...second, completions, runProgram }));
      expect(await readFile(completion, "utf8")).toBe("# zsh\n");
      await runInstall({}, here({ ...second, completions }));
      await expect(readFile(completion)).rejects.toThrow("ENOENT");
    });

    test("first installation → reported with exit code 1, stays", async () => {
      await configure();
      systemd.refusals.set(`start ${SERVICE}`, FAILURE);
      const { exitCode, stderr } = await runInstall({}, here(first));
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`${FAILURE} [start-failed]`)]);
      systemd.refusals.clear();
      expect((await runInstall({}, here(first))).stdout).toContain("Nothing to change");
    });
  });

  describe("interrupted", () => {
    test.each([
      ["daemon-reload", "Failed to reload daemon: Access denied"],
      [`enable ${SERVICE}`, "Failed to enable unit: Read-only file system"],
    ])("systemctl %s fails → reported, completed by the next run", async (command, reason) => {
      const { exitCode, stderr } = await runInstall({}, here({ ...first, runProgram: failOnce(command, reason) }));
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`${reason} [not-installed]\n  → fix the cause`)]);
      systemd.done.splice(0);
      expect((await runInstall({}, here(first))).exitCode).toBe(0);
      expect(systemd.done).toEqual(["daemon-reload", `enable ${SERVICE}`, `start ${SERVICE}`]);
    });

    test("repair of a disabled unit → still disabled after the next run", async () => {
      await installFirst();
      await rm(join(root, "etc/systemd/system/multi-user.target.wants", SERVICE));
      await rm(join(root, "usr/local/lib/systemd/system", SERVICE));
      await runInstall({}, here({ ...first, runProgram: failOnce("daemon-reload", "Access denied") }));
      systemd.done.splice(0);
      expect((await runInstall({}, here(first))).exitCode).toBe(0);
      expect(systemd.done).toEqual(RESTART);
    });

    test("upgrade killed after the switch, then a third version does not start → the version that ran last runs again", async () => {
      await installFirst();
      const ran = await readlink(current());
      const killed: RunProgram = (argv, options) =>
        argv.includes("restart") ? Promise.reject(new Killed()) : systemd.runProgram(argv, options);
      await expect(runInstall({}, here({ ...second, runProgram: killed }))).rejects.toThrow(Killed);
      expect(await readlink(current())).not.toBe(ran);
      const third = { ...second, dist: await workshop.makeDistribution("1.2.0"), version: "1.2.0" };
      const runProgram = failOnce(`restart ${SERVICE}`, FAILURE);
      expect((await runInstall({}, here({ ...third, runProgram }))).stderr).toContain("[taken-back]");
      expect(await readlink(current())).toBe(ran);
      expect(runningVersion()).toBe("1.0.0");
    });

    test.each(["upgrade", "repair"])(
      "%s killed at any moment → the next run restarts the agent with it",
      async (what) => {
        await installFirst();
        const setting = what === "upgrade" ? second : first;
        const damage = async () => {
          if (what === "upgrade") return void (await runInstall({}, here(first)));
          await rm(join(root, "usr/local/lib/systemd/system", SERVICE));
          await writeFile(join(current(), "lib/yaml.cjs"), "damaged");
        };
        // Afterwards both versions are on the disk, and each further upgrade makes the same changes.
        await runInstall({}, here(setting));
        await damage();
        const counting = breakMachine(null, systemd.runProgram);
        await runInstall({}, here({ ...setting, ...counting }));
        const whole = describeTree(root);
        for (let at = 0; at < counting.count(); at += 1) {
          await damage();
          systemd.done.splice(0);
          const broken = breakMachine({ kind: "killed", at }, systemd.runProgram);
          await expect(runInstall({}, here({ ...setting, ...broken }))).rejects.toThrow(Killed);
          expect((await runInstall({}, here(setting))).exitCode).toBe(0);
          // At the last changes, the killed run had restarted the agent itself.
          expect(systemd.done.slice(-2), `killed at change ${at}`).toEqual(RESTART);
          expect(runningVersion()).toBe(setting.version ?? "1.0.0");
          expect(describeTree(root)).toEqual(whole);
        }
      },
    );
  });

  describe("uninstall", () => {
    test("stops, disables and removes; a repeat changes nothing", async () => {
      await installFirst();
      await mkdir(join(root, "var/cache/robot-policy-agent/compiled"), { recursive: true });
      const { exitCode, stdout } = await runUninstall({}, here(first));
      expect(exitCode).toBe(0);
      expect(systemd.done).toEqual([`stop ${SERVICE}`, `disable ${SERVICE}`, "daemon-reload"]);
      expect(stdout.slice(stdout.indexOf("ok "))).toMatchInlineSnapshot(`
        "ok robot-policy-agent is removed
        Left: /etc/robot-policy-agent, /var/lib/robot-policy-agent, the user robot-policy-agent. To remove that too, as root:
          rm -rf /etc/robot-policy-agent /var/lib/robot-policy-agent; userdel robot-policy-agent
        "
      `);
      systemd.done.splice(0);
      expect((await runUninstall({}, here(first))).stdout).toContain("Nothing to remove");
      expect(systemd.done).toEqual([]);
    });

    test("unit that failed → reset, so that systemd forgets it", async () => {
      await runInstall({}, here(first));
      systemd.done.splice(0);
      const runProgram: RunProgram = async (argv, options) => {
        const result = await systemd.runProgram(argv, options);
        if (!argv.includes(FIRST_BOOT) || result.kind !== "ended") return result;
        return { ...result, stdout: result.stdout.replace("ActiveState=inactive", "ActiveState=failed") };
      };
      await runUninstall({}, here({ ...first, runProgram }));
      expect(systemd.done).toEqual([`reset-failed ${FIRST_BOOT}`, `disable ${SERVICE}`, "daemon-reload"]);
    });

    test("access that was granted → named; with --purge revoked first, and nothing is removed if that fails", async () => {
      await installFirst();
      const record = join(root, "var/lib/robot-policy-agent-install/grants.json");
      await mkdir(join(record, ".."));
      await writeFile(record, "{}");
      const revoking: string[][] = [];
      const runProgram: RunProgram = async (argv, options) => {
        if (!argv.includes("grant")) return systemd.runProgram(argv, options);
        revoking.push([...argv]);
        return { kind: "ended", exitCode: revoking.length === 1 ? 1 : 0, stdout: "", stderr: "busy" };
      };
      const { exitCode } = await runUninstall({ purge: true }, here({ ...first, runProgram }));
      expect([exitCode, await readFile(record, "utf8")]).toEqual([1, "{}"]);
      expect((await runUninstall({}, here({ ...first, runProgram }))).stderr).toContain("grant --revoke");
      expect((await runUninstall({ purge: true }, here({ ...first, runProgram }))).exitCode).toBe(0);
      const words = [first.node, join(first.dist, "robot-policy-agent.cjs"), "grant", "--revoke"];
      expect(revoking).toEqual([words, words]);
      await expect(stat(join(record, ".."))).rejects.toThrow("ENOENT");
    });

    test("service does not stop → nothing removed, completed by a repeat", async () => {
      await installFirst();
      const before = describeTree(root);
      systemd.refusals.set(`stop ${SERVICE}`, "Job timed out.");
      const { exitCode, stderr } = await runUninstall({}, here(first));
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining("Job timed out. [not-uninstalled]")]);
      expect(describeTree(root)).toEqual(before);
      systemd.refusals.clear();
      expect((await runUninstall({}, here(first))).exitCode).toBe(0);
    });

    test("killed before daemon-reload → a repeat reloads", async () => {
      await installFirst();
      const killed: RunProgram = (argv, options) => {
        if (argv.includes("daemon-reload")) throw new Killed();
        return systemd.runProgram(argv, options);
      };
      await expect(runUninstall({}, here({ ...first, runProgram: killed }))).rejects.toThrow(Killed);
      systemd.done.splice(0);
      expect((await runUninstall({}, here(first))).exitCode).toBe(0);
      expect(systemd.done).toEqual(["daemon-reload"]);
    });
  });

  function failOnce(command: string, reason: string): RunProgram {
    let isFirst = true;
    return async (argv, options) => {
      if (!isFirst || !argv.join(" ").endsWith(command)) return systemd.runProgram(argv, options);
      isFirst = false;
      return { kind: "ended", exitCode: 1, stdout: "", stderr: `${reason}\n` };
    };
  }
});
