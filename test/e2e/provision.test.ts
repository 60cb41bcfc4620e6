/**
 * A new robot: install the package, configure it once, and it needs no further care.
 *
 * @module-tag needs/machine
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { pageBlock, rootScript } from "../support/documents/blocks.ts";
import { tellJournals } from "../support/nspawn/journal.ts";
import { type DebianPackage, debianPackage, PACKAGE } from "../support/nspawn/package.ts";
import {
  CONFIGURATION_FILE,
  createRobotComputer,
  KEY_FILE,
  provision,
  ROBOT_FILES,
  type RobotComputer,
  UNIT,
} from "../support/nspawn/robot.ts";
import { debianRoot, LIMIT_MS, RELEASES, STEP_BY_STEP } from "../support/nspawn/root.ts";
import { type SiteService, startSiteService } from "../support/nspawn/service.ts";
import { openSite, type Site, whySkipped } from "../support/nspawn/site.ts";
import { eventually } from "../support/robot/robot.ts";
import { times } from "../support/run/tier.ts";

/** Far above any measurement on a loaded machine with two cores, and below any wait for a network. */
const ACTIVE_LIMIT_MS = 5000;
const MEMORY_LIMIT_BYTES = 80 * 1024 * 1024;

describe.skipIf(whySkipped !== "").each(RELEASES)(
  `new robot, step by step, under $suite, systemd $systemd${whySkipped}`,
  STEP_BY_STEP,
  (release) => {
    const resources = new AsyncDisposableStack();
    let site: Site;
    let service: SiteService;
    let robot: RobotComputer;
    let deb: DebianPackage;

    beforeAll(async () => {
      deb = await debianPackage();
      const root = await debianRoot(release);
      site = resources.use(await openSite());
      service = resources.use(await startSiteService(site));
      robot = resources.use(await createRobotComputer(site, { layers: [root, deb.layer], hostname: "arm-7" }));
      await robot.boot();
    }, LIMIT_MS);

    afterEach(tellJournals);
    afterAll(() => resources.disposeAsync());

    test("dpkg --install → nothing runs yet, and nothing has failed", async () => {
      const block = await pageBlock("README.md: sudo apt install ./robot-policy-agent_0.1.0_amd64.deb");
      const { stdout } = await robot.run(rootScript(block).replace(/apt install \S+/, `dpkg --install ${deb.path}`));
      // The next step, with a key or by enrolment.
      expect(stdout).toMatch(/next: sudo robot-policy-agent init$/m);
      expect(await robot.show("ActiveState")).toBe("inactive");
      expect(await robot.show("UnitFileState")).toBe("enabled");
      expect(await robot.failedUnits()).toBe("");
      expect(await robot.ask(`dpkg --verify ${PACKAGE}`)).toBe("");
      expect(await robot.ask(`${PACKAGE} --version`)).toMatch(/^\d+\.\d+\.\d+$/);
    });

    test("boot without a configuration → no failed unit; the agent does not wait for the network", async () => {
      await robot.shutdown();
      await robot.boot();
      expect(await robot.failedUnits()).toBe("");
      expect(await robot.show("ActiveState")).toBe("inactive");
      const earlier = await robot.ask(`systemctl list-dependencies --after --plain --all ${UNIT}`);
      expect(earlier).toContain("basic.target");
      expect(earlier).not.toMatch(/network/);
    });

    test("17: key file readable by others → refused, with the chmod command", async () => {
      await provision(robot, service);
      await robot.run(`chmod 644 ${KEY_FILE}`);
      const refused = await robot.agent("--setup");
      expect(refused.code).toBe(5);
      expect(refused.stderr).toContain(`chmod 600 ${KEY_FILE}`);
      await robot.run(`chmod 600 ${KEY_FILE}`);
      expect(service.requests).toEqual([]);
    });

    test("check → no findings; --setup → registers the files with one request", async () => {
      expect((await robot.agent("check --strict")).code).toBe(0);
      const { code, stdout } = await robot.agent("--setup");
      expect(stdout).toContain("Registered arm-7 as rob_");
      expect(code).toBe(0);
      expect(await service.robots()).toEqual([{ name: "arm-7", configuration_digest: await robot.digest() }]);
      await service.allLogged();
      expect(service.requests).toHaveLength(1);
    });

    test("systemctl start → the daemon takes over the registration of --setup, without a request", async () => {
      await robot.run(`systemctl start ${UNIT}`);
      const { registration, findings } = await robot.until(({ state }) => state === "registered");
      expect(registration?.configuration_digest).toBe(await robot.digest());
      expect(findings).toEqual([]);
      await service.allLogged();
      expect(service.requests).toHaveLength(1);
      expect((await robot.agent("status")).code).toBe(0);
      expect(await robot.ask(`journalctl -u ${UNIT} -p notice -o cat --no-pager`)).not.toMatch(/"event"/);
      expect(await robot.ask("journalctl --no-pager -b")).not.toMatch(/inherited credential|credential.*robot-policy/);
    });

    test("boot without changes → quickly active, little memory, no request", async ({ annotate }) => {
      await robot.shutdown();
      await robot.boot();
      await robot.until(({ state }) => state === "registered");
      await robot.takeControlGroups();
      // Later starts use the compile cache; the fastest depends least on other load.
      let activeMs = Infinity;
      for (let start = 0; start < times(2, 3); start += 1) {
        await robot.run(`systemctl stop ${UNIT}; systemctl start ${UNIT}`);
        await robot.until(({ state }) => state === "registered");
        const [from, to] = [
          await robot.show("InactiveExitTimestampMonotonic"),
          await robot.show("ActiveEnterTimestampMonotonic"),
        ];
        activeMs = Math.min(activeMs, (Number(to) - Number(from)) / 1000);
      }
      const current = await robot.show("MemoryCurrent");
      // systemd 255 and newer show it themselves, for control groups of version 2.
      const peak = await robot.ask(
        `cd /sys/fs/cgroup; cat memory/system.slice/${UNIT}/memory.max_usage_in_bytes || cat system.slice/${UNIT}/memory.peak || systemctl show --value -p MemoryPeak ${UNIT}`,
        { may_fail: true },
      );
      const resident = await robot.ask(
        `awk '/^VmRSS/ { print $2 * 1024 }' /proc/$(systemctl show --value -p MainPID ${UNIT})/status`,
      );
      await annotate(
        `systemctl start to active: ${activeMs.toFixed(0)} ms; MemoryCurrent ${megabytes(current)}, peak ${megabytes(peak)}; resident with files ${megabytes(resident)}`,
      );
      expect(activeMs).toBeLessThan(ACTIVE_LIMIT_MS);
      expect(Number(peak)).toBeLessThan(MEMORY_LIMIT_BYTES);
      await service.allLogged();
      expect(service.requests).toHaveLength(1);
    });

    test("19: no TPM → the key is read from its file", async () => {
      expect(await robot.ask("ls /dev/tpm0 2>/dev/null || echo none")).toBe("none");
      expect(await robot.ask(`grep key_file ${CONFIGURATION_FILE}`)).toContain(KEY_FILE);
    });

    test("16: the key → in its file only", async () => {
      await robot.run("sync");
      const key = service.key.slice(3);
      const found = await robot.ask(
        `ps -eo args | grep -F '${key}' | grep -v grep || true; journalctl --no-pager | grep -F '${key}' || true
        cat /proc/$(systemctl show --value -p MainPID ${UNIT})/environ | grep -aF '${key}' || true
        grep -rlF '${key}' /etc /run/${PACKAGE} /var /usr/lib/${PACKAGE} 2>/dev/null || true`,
      );
      expect(found).toBe(KEY_FILE);
    });

    test("40: repeated crashes → growing restart delay; started by hand → no delay", async () => {
      const dropIn = `/etc/systemd/system/${UNIT}.d/quick.conf`;
      const hasSteps = release.systemd >= 254;
      await robot.write(dropIn, `[Service]\nRestartSec=100ms\n${hasSteps ? "RestartMaxDelaySec=2s\n" : ""}`);
      // The unit's shell finds this sleep first; it prints the delay and does not wait.
      const sleep = "/usr/local/bin/sleep";
      await robot.write(sleep, '#!/bin/sh\necho "slept $1"\n', "755");
      await robot.run(`cd /usr/lib/${PACKAGE}/lib; mv ${PACKAGE}.cjs kept; echo 'throw new Error("torn")' >${PACKAGE}.cjs
        systemctl daemon-reload; systemctl restart --no-block ${UNIT}`);
      if (hasSteps) {
        expect(await robot.show("RestartSteps")).toBe("8");
        const isLongest = async () => (await robot.show("RestartUSecNext")) === "2s" || undefined;
        await eventually(isLongest, "the longest delay");
      } else {
        const readDelays = async () =>
          (await robot.ask(`journalctl -u ${UNIT} -o cat --no-pager`)).match(/(?<=^slept )\d+$/gm);
        const delays = await eventually(async () => {
          const seconds = await readDelays();
          return (seconds?.length ?? 0) >= 6 ? seconds : undefined;
        }, "six longer delays");
        expect(delays?.slice(0, 6)).toEqual(["10", "20", "30", "40", "50", "50"]);
      }
      // Start by hand during a delay.
      await robot.write(dropIn, "[Service]\nRestartSec=1h\nRestartMaxDelaySec=1h\n");
      await robot.run("systemctl daemon-reload");
      const restarts = async () => robot.ask(`systemctl show -p SubState -p NRestarts ${UNIT}`);
      const isDelayed = async () => {
        const earlier = await restarts();
        return (earlier.includes("SubState=auto-restart") && earlier === (await restarts())) || undefined;
      };
      await eventually(isDelayed, "a delay of an hour");
      await robot.run(`cd /usr/lib/${PACKAGE}/lib; mv kept ${PACKAGE}.cjs; rm -r /etc/systemd/system/${UNIT}.d
        systemctl daemon-reload; systemctl restart ${UNIT}`);
      await robot.until(({ state }) => state === "registered");
      const invocation = await robot.show("InvocationID");
      expect(await robot.ask(`journalctl -o cat --no-pager _SYSTEMD_INVOCATION_ID=${invocation}`)).not.toMatch(
        /^slept/m,
      );
      await robot.run(`rm ${sleep}`);
    });

    test("journalctl -p → registrations are notices, what is wrong is a warning", async () => {
      const messages = (priority: string) =>
        robot.ask(`journalctl _SYSTEMD_UNIT=${UNIT} -b -p ${priority} -o cat --no-pager`);
      const [first = ""] = ROBOT_FILES;
      const former = await robot.digest();
      await robot.run(`echo '# changed' >>${first}`);
      await robot.until(({ registration }) => registration?.configuration_digest !== former);
      const noticed = async () =>
        (await messages("notice")).match(/^\{"level":"notice",.*"event":"registered"/gm) ?? undefined;
      expect(await eventually(noticed, "the registration in the journal")).toHaveLength(1);
      expect(await messages("warning")).not.toContain('"event":"registered"');
      await robot.run(`mv ${first} ${first}.away`);
      const warned = async () => (await messages("warning")).includes(first) || undefined;
      await eventually(warned, "a warning that names the file");
      await robot.run(`mv ${first}.away ${first}`);
      await robot.until(({ state }) => state === "registered");
    });

    test("43: systemd-analyze → no warnings, exposure 2.0 at most", async ({ annotate }) => {
      const warnings = await robot.ask(`systemd-analyze verify --man=no ${UNIT} 2>&1 | grep -F ${PACKAGE} || true`);
      expect(warnings).toBe("");
      const security = await robot.ask(`systemd-analyze security --no-pager ${UNIT} | tail -1`);
      await annotate(security);
      expect(Number(/(\d+\.\d)/.exec(security)?.[1])).toBeLessThanOrEqual(2);
    });
  },
);

function megabytes(bytes: string): string {
  return `${(Number(bytes) / 1e6).toFixed(1)} MB`;
}
