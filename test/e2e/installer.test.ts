/**
 * `robot-policy-agent install` and `uninstall`: a robot without the Debian package, from the contents of the npm package.
 *
 * @module-tag needs/machine
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { inventory } from "../support/nspawn/inventory.ts";
import { pageBlock, rootScript } from "../support/documents/blocks.ts";
import { tellJournals } from "../support/nspawn/journal.ts";
import { type DebianPackage, debianPackage, PACKAGE } from "../support/nspawn/package.ts";
import {
  CONFIGURATION_FILE,
  createRobotComputer,
  installPackage,
  KEY_FILE,
  MANIFEST_FILE,
  provision,
  type RobotComputer,
  STATE_FILE,
  UNIT,
} from "../support/nspawn/robot.ts";
import { BOOKWORM, debianRoot, LIMIT_MS, STEP_BY_STEP } from "../support/nspawn/root.ts";
import { type SiteService, startSiteService } from "../support/nspawn/service.ts";
import { openSite, type Site, whySkipped } from "../support/nspawn/site.ts";
import { execute } from "../support/programs/execute.ts";
import { AGENT_PROGRAM } from "../support/programs/programs-built.ts";
import { eventually } from "../support/robot/robot.ts";
import { isLong } from "../support/run/tier.ts";

const root = join(import.meta.dirname, "../..");
/** Unpacked on the robot: the npm package, and a Node as from nodejs.org. */
const UNPACKED = "/root/unpacked";
/** The same in the site, as the source of copies. */
const IN_SITE = "/run/unpacked";
const INSTALLER = `${UNPACKED}/node ${UNPACKED}/dist/${PACKAGE}.cjs`;
const UNIT_FILE = `/usr/local/lib/systemd/system/${UNIT}`;

describe.skipIf(whySkipped !== "")(
  `install without a package manager, step by step, under systemd ${BOOKWORM.systemd}${whySkipped}`,
  STEP_BY_STEP,
  () => {
    const resources = new AsyncDisposableStack();
    let site: Site;
    let service: SiteService;
    let robot: RobotComputer;
    let deb: DebianPackage;
    let former: readonly string[];

    beforeAll(async () => {
      site = resources.use(await openSite());
      service = resources.use(await startSiteService(site));
      deb = await debianPackage();
      const layers = [await debianRoot(BOOKWORM), deb.layer];
      robot = resources.use(await createRobotComputer(site, { layers, hostname: "arm-7" }));
      await unpackIntoSite();
      await putUnpacked(robot);
      await robot.boot();
      former = await inventory(robot);
    }, LIMIT_MS);

    afterEach(tellJournals);
    afterAll(() => resources.disposeAsync());

    /** The files as after unpacking the npm package. */
    async function unpackIntoSite(): Promise<void> {
      const folder = site.path(IN_SITE);
      await execute(["mkdir", "-p", join(folder, "dist")]);
      const parts = [`${PACKAGE}.cjs`, "lib", "share"].map((name) => join(dirname(AGENT_PROGRAM), name));
      await execute(["cp", "-r", ...parts, join(folder, "dist")]);
      for (const name of ["config", "systemd", "package.json"]) await execute(["cp", "-r", join(root, name), folder]);
      await execute(["cp", process.execPath, join(folder, "node")]);
    }

    const putUnpacked = (computer: RobotComputer) => site.run(["cp", "-r", IN_SITE, computer.disk(UNPACKED)]);

    const installed = (flags = "") => robot.run(`${INSTALLER} install ${flags}`, { may_fail: true });

    test("--dry-run → shows every change, makes none", async () => {
      const { code, stdout } = await installed("--dry-run");
      expect(stdout).toContain(`would write ${UNIT_FILE}`);
      expect(code).toBe(0);
      expect(await inventory(robot)).toEqual(former);
    });

    test("install, init, start → registers, without the unpacked folder", async () => {
      const block = await pageBlock(
        "systemd/README.md: sudo node_modules/.bin/node dist/robot-policy-agent.cjs install",
      );
      const { stdout, stderr } = await robot.run(`cd ${UNPACKED}\n${unpacked(rootScript(block))}`);
      expect(stderr).toBe("");
      expect(stdout).toContain("robot-policy-agent init");
      await robot.run(`mv ${UNPACKED} ${UNPACKED}.away`);
      await provision(robot, service);
      await robot.run(`systemctl start ${UNIT}`);
      await robot.until(({ state }) => state === "registered");
      expect(await robot.show("UnitFileState")).toBe("enabled");
      expect(await service.robots()).toEqual([{ name: "arm-7", configuration_digest: await robot.digest() }]);
      expect(await robot.ask(`readlink /proc/$(systemctl show --value -p MainPID ${UNIT})/exe`)).toMatch(
        /^\/usr\/local\/lib\//,
      );
      await robot.run(`mv ${UNPACKED}.away ${UNPACKED}`);
    });

    test("install again → changes nothing, does not restart the agent", async () => {
      const processId = await robot.show("MainPID");
      // The running agent writes its compile cache some time after its start.
      const rest = async () => (await inventory(robot)).filter((line) => !line.includes(` /var/cache/${PACKAGE}`));
      const before = await rest();
      expect((await installed()).code).toBe(0);
      expect(await rest()).toEqual(before);
      expect(await robot.show("MainPID")).toBe(processId);
    });

    test("install --on-demand → the timer looks and no agent runs; --resident → the service again", async () => {
      const TIMER = `${PACKAGE}.timer`;
      expect((await installed("--on-demand")).code).toBe(0);
      const states = () =>
        robot.ask(`systemctl is-active ${UNIT} ${TIMER}; systemctl is-enabled ${UNIT} ${TIMER} || true`);
      const after = async (wanted: string) => expect((await states()).split("\n").join(" ")).toBe(wanted);
      await after("inactive active disabled enabled");
      const { code, stdout } = await robot.agent("status");
      expect([code, stdout]).toEqual([0, expect.stringContaining("by a timer, each minute: last at")]);
      expect((await installed("--resident")).code).toBe(0);
      await after("active inactive enabled disabled");
      await robot.until(({ state }) => state === "registered");
      expect((await installed("--resident")).stdout).toContain("Nothing to change");
    });

    test("unit disabled by the administrator and with a drop-in, install again → both stay", async () => {
      const dropIn = `/etc/systemd/system/${UNIT}.d/nice.conf`;
      await robot.run(`systemctl disable ${UNIT}; mkdir ${dirname(dropIn)}; printf '[Service]\\nNice=5\\n' >${dropIn}`);
      expect((await installed()).code).toBe(0);
      expect(await robot.show("UnitFileState")).toBe("disabled");
      expect(await robot.ask(`grep ^Nice= ${dropIn}`)).toBe("Nice=5");
    });

    test("43: systemd-analyze verify → no warnings", async () => {
      expect(await robot.ask(`systemd-analyze verify --man=no ${UNIT} 2>&1 | grep -F ${PACKAGE} || true`)).toBe("");
    });

    test("42: uninstall without a network → ends at once, keeps configuration, key and state; again → a no-op", async () => {
      await robot.cable("pulled");
      const kept = `sha256sum ${CONFIGURATION_FILE} ${MANIFEST_FILE} ${KEY_FILE} ${STATE_FILE}`;
      const before = await robot.ask(kept);
      expect((await robot.run(`${INSTALLER} uninstall`, { may_fail: true })).code).toBe(0);
      expect(await robot.ask(kept)).toBe(before);
      expect(await robot.failedUnits()).toBe("");
      expect((await robot.run(`${INSTALLER} uninstall`, { may_fail: true })).code).toBe(0);
      await robot.cable("plugged");
    });

    test("installed again → continues without a request; uninstall --purge → leaves nothing", async () => {
      const before = service.requests.length;
      await installed();
      await robot.run(`systemctl start ${UNIT}`);
      await robot.until(({ state }) => state === "registered");
      await service.allLogged();
      expect(service.requests).toHaveLength(before);
      expect((await robot.run(`${INSTALLER} uninstall --purge`, { may_fail: true })).code).toBe(0);
      await robot.run("rm -r /opt/yam");
      const left = (await inventory(robot)).filter((line) => !former.includes(line));
      expect(left).toEqual([]);
    });

    test("power cut during an installation → the next one completes it, and a purge leaves nothing", async () => {
      const programAppears = (computer: RobotComputer) => {
        const folder = site.path(computer.disk(`/usr/local/lib/${PACKAGE}`));
        return eventually(async () => existsSync(folder) || undefined, "the installer to write the program");
      };
      const others = isLong ? [250, 600] : [];
      for (const moment of [programAppears, ...others.map((ms) => () => sleep(ms))]) {
        await using interrupted = await createRobotComputer(site, {
          layers: [await debianRoot(BOOKWORM)],
          hostname: "arm-7",
          disk: "journaled",
        });
        await putUnpacked(interrupted);
        await interrupted.boot();
        await interrupted.run("sync");
        const clean = await inventory(interrupted);
        const installing = interrupted.run(`${INSTALLER} install`, { may_fail: true }).catch(() => null);
        await Promise.race([moment(interrupted), installing]);
        await interrupted.cutPower();
        await installing;
        await interrupted.boot();
        expect((await interrupted.run(`${INSTALLER} install`, { may_fail: true })).code).toBe(0);
        expect(await interrupted.ask(`${PACKAGE} --version`)).toMatch(/^\d+\.\d+\.\d+$/);
        expect((await interrupted.run(`${INSTALLER} uninstall --purge`, { may_fail: true })).code).toBe(0);
        const left = (await inventory(interrupted)).filter((line) => !clean.includes(line));
        // systemd-sysusers leaves its temporary file behind when the power is cut before it renames it.
        expect(left.filter((line) => !/ \/etc\/\.#(group|gshadow|passwd|shadow)\w+$/.test(line))).toEqual([]);
      }
    });

    test("Debian package installed → install refuses, and names apt-get", async () => {
      await installPackage(robot, deb);
      const { code, stderr } = await installed();
      expect(code).not.toBe(0);
      expect(stderr).toContain(`apt-get remove ${PACKAGE}`);
    });

    test.each([
      ["--first-boot", "enabled disabled", "active inactive"],
      ["--on-demand", "disabled enabled", "inactive active"],
    ])("--root %s → installs into the image only; its first boot registers", async (flag, enabled, active) => {
      await using image = await createRobotComputer(site, {
        layers: [await debianRoot(BOOKWORM)],
        hostname: `cell${flag}`,
      });
      const block = await pageBlock(
        "systemd/README.md: sudo node_modules/.bin/node dist/robot-policy-agent.cjs install --root /mnt/image --first-boot --key-file ./api-key",
      );
      const script = unpacked(rootScript(block))
        .replaceAll("/mnt/image", image.disk(""))
        .replace("--first-boot", flag)
        .replace(" init ", " init --no-test ");
      const makeKey = `umask 077; echo ${service.key} >api-key`;
      const { stdout } = await site.run(["sh", "-ec", `cd ${robot.disk(UNPACKED)}\n${makeKey}\n${script}`]);
      expect(stdout).toContain("is installed in");
      await image.boot();
      await provision(image, service);
      await image.shutdown();
      await image.image.run("echo uninitialized >/etc/machine-id");
      await image.boot();
      await eventually(
        async () => (await service.robots()).some(({ name }) => name === `cell${flag}`) || undefined,
        "the registration",
      );
      const units = `${UNIT} ${PACKAGE}.timer`;
      // The first boot enables what no preset forbids.
      expect((await image.ask(`systemctl is-enabled ${units} || true`)).split("\n").join(" ")).toBe(enabled);
      expect((await image.ask(`systemctl is-active ${units} || true`)).split("\n").join(" ")).toBe(active);
    });
  },
);

/** The script with the Node of the unpacked folder. */
function unpacked(script: string): string {
  return script.replaceAll("node_modules/.bin/node", "./node");
}
