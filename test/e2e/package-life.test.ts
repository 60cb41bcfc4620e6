/**
 * 41: upgrade, downgrade, interruption, removal and purge of the package on a working robot.
 *
 * @module-tag needs/machine
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { checksum, SCHEMA_VERSION } from "../../src/agent/registration/state-file.ts";
import { inventory } from "../support/nspawn/inventory.ts";
import { tellJournals } from "../support/nspawn/journal.ts";
import type { Computer } from "../support/nspawn/nspawn.ts";
import { NEWER_VERSION, PACKAGE } from "../support/nspawn/package.ts";
import {
  CONFIGURATION_FILE,
  installPackage,
  KEY_FILE,
  MANIFEST_FILE,
  provision,
  ROBOT_FILES,
  type RobotComputer,
  STATE_FILE,
  UNIT,
  untilTrue,
} from "../support/nspawn/robot.ts";
import { BOOKWORM, LIMIT_MS } from "../support/nspawn/root.ts";
import { whySkipped } from "../support/nspawn/site.ts";
import { type RobotOptions, type RobotSite, sharedRobotSite } from "../support/robot/robot-site.ts";
import { eventually } from "../support/robot/robot.ts";
import { isLong } from "../support/run/tier.ts";

/** Size of each of three sparse files that take the agent a while to hash. */
const LARGE_BYTES = 200_000_000;

describe.skipIf(whySkipped !== "")(
  `package on a robot under systemd ${BOOKWORM.systemd}${whySkipped}`,
  { timeout: LIMIT_MS },
  () => {
    let plant: RobotSite;
    /** Number of requests before the test. */
    let before = 0;

    beforeAll(async () => {
      plant = await sharedRobotSite(BOOKWORM);
    }, LIMIT_MS);

    afterEach(tellJournals);

    async function boot(options: RobotOptions = {}): Promise<RobotComputer> {
      const robot = await plant.registered(options);
      await robot.boot();
      await robot.until(({ state }) => state === "registered");
      before = plant.service.requests.length;
      return robot;
    }

    const sent = () => plant.service.requests.length - before;
    const installedVersion = (robot: Computer) => robot.ask(`dpkg-query --show --showformat='\${Version}' ${PACKAGE}`);

    describe("step by step", { shuffle: false }, () => {
      const resources = new AsyncDisposableStack();
      let robot: RobotComputer;

      beforeAll(async () => {
        robot = resources.use(await boot());
      }, LIMIT_MS);

      beforeEach(async () => {
        await plant.service.allLogged();
        before = plant.service.requests.length;
      });

      afterAll(() => resources.disposeAsync());

      test("upgrade → keeps state, configuration and drop-ins; the new program runs, without a request", async () => {
        await robot.write(`/etc/systemd/system/${UNIT}.d/mine.conf`, "[Service]\nNice=5\n");
        await robot.run(`echo '# mine' >>${CONFIGURATION_FILE}; systemctl daemon-reload`);
        const kept = `sha256sum ${STATE_FILE} ${CONFIGURATION_FILE} ${MANIFEST_FILE} ${KEY_FILE}`;
        const former = await robot.ask(kept);
        await installPackage(robot, plant.newer);
        const { daemon } = await robot.until(({ state }) => state === "registered");
        expect(daemon?.version).toBe(NEWER_VERSION);
        expect(await robot.ask(kept)).toBe(former);
        expect(await robot.show("Nice")).toBe("5");
        expect(await robot.show("UnitFileState")).toBe("enabled");
        expect(await robot.show("NeedDaemonReload")).toBe("no");
        expect(await robot.failedUnits()).toBe("");
        expect(sent()).toBe(0);
      });

      test("downgrade, state of a newer agent → refused, nothing is lost", async () => {
        await robot.run(`systemctl stop ${UNIT}`);
        await robot.run(`cp --preserve ${STATE_FILE} /root/state`);
        await robot.write(STATE_FILE, asNewerState(await robot.ask(`cat ${STATE_FILE}`)));
        const state = await robot.ask(`sha256sum ${STATE_FILE}`);
        const { code, stderr } = await installPackage(robot, plant.deb, { may_fail: true });
        expect(code).not.toBe(0);
        expect(stderr).toContain(`${STATE_FILE} was written by a newer agent`);
        expect(await robot.ask(`sha256sum ${STATE_FILE}`)).toBe(state);
        expect(await installedVersion(robot)).toBe(NEWER_VERSION);
        expect(await robot.ask(`dpkg --audit`)).toBe("");
        // If dpkg did not prevent it, the agent leaves the state alone as well.
        const setup = await robot.agent("--setup");
        expect(setup.stderr).toContain("written by a newer agent");
        expect(setup.code).toBe(1);
        expect(await robot.ask(`sha256sum ${STATE_FILE}`)).toBe(state);
        expect(sent()).toBe(0);
        await robot.run(`mv /root/state ${STATE_FILE}; systemctl start ${UNIT}`);
      });

      test("downgrade to an agent that reads the state → continues without a request", async () => {
        await installPackage(robot, plant.deb);
        const { daemon } = await robot.until(({ state }) => state === "registered");
        expect(daemon?.version).not.toBe(NEWER_VERSION);
        expect(sent()).toBe(0);
      });

      test("upgrade while large files are hashed → the new agent hashes again and registers the right digest", async () => {
        // Not .yaml, because the agent takes zeroes in YAML for an unfinished write.
        const large = [1, 2, 3].map((part) => `/opt/yam/configs/mesh.bin${part}`);
        // A request that is under way when the agent stops would be repeated.
        await robot.cable("pulled");
        await robot.run(`cp ${MANIFEST_FILE} /root/manifest
          truncate -s ${LARGE_BYTES} ${large.join(" ")}; printf '  - %s\\n' ${large.join(" ")} >>${MANIFEST_FILE}`);
        await robot.until(({ state }) => state !== "registered");
        await installPackage(robot, plant.newer);
        await robot.cable("plugged");
        const small = await robot.ask(`sha256sum ${ROBOT_FILES.join(" ")} | cut -c1-64`);
        const zeroes = createHash("sha256").update(Buffer.alloc(LARGE_BYTES)).digest("hex");
        const lines = [small, ...large.map(() => zeroes), ""].join("\n");
        const digest = `sha256:${createHash("sha256").update(lines).digest("hex")}`;
        const { daemon } = await robot.until(
          ({ state, registration }) => state === "registered" && registration?.configuration_digest === digest,
        );
        expect(daemon?.version).toBe(NEWER_VERSION);
        await plant.service.allLogged();
        expect(sent()).toBe(1);
        await robot.run(`cp /root/manifest ${MANIFEST_FILE}; rm ${large.join(" ")}`);
        const former = await robot.digest();
        await robot.until(({ registration }) => registration?.configuration_digest === former);
      });

      test("unit disabled, stopped or masked → stays so after upgrades and a boot", async () => {
        for (const [index, { command, ...expected }] of [
          { command: `disable --now ${UNIT}`, fileState: "disabled", state: "inactive" },
          { command: `enable ${UNIT}`, fileState: "enabled", state: "inactive" },
          { command: `mask ${UNIT}`, fileState: "masked", state: "inactive" },
          {
            command: `unmask ${UNIT}; systemctl enable --now ${UNIT}; systemctl disable ${UNIT}`,
            fileState: "disabled",
            state: "active",
          },
        ].entries()) {
          await robot.run(`systemctl ${command}`);
          await installPackage(robot, index % 2 === 0 ? plant.deb : plant.newer);
          const [fileState, state] = [await robot.show("UnitFileState"), await robot.show("ActiveState")];
          expect({ fileState, state }, `systemctl ${command}`).toEqual(expected);
        }
        await robot.shutdown();
        await robot.boot();
        expect(await robot.show("ActiveState")).toBe("inactive");
      });

      test("remove → stops, keeps configuration, key and state; installed again → continues without a request", async () => {
        await robot.run(`systemctl enable --now ${UNIT}`);
        const kept = `sha256sum ${STATE_FILE} ${CONFIGURATION_FILE} ${MANIFEST_FILE} ${KEY_FILE}`;
        const former = await robot.ask(kept);
        await robot.run(`dpkg --remove ${PACKAGE}`);
        expect(await robot.ask(kept)).toBe(former);
        expect(await robot.ask(`ls -l /proc/*/exe 2>/dev/null | grep -F ${PACKAGE} || echo none`)).toBe("none");
        expect(await robot.failedUnits()).toBe("");
        await robot.shutdown();
        await robot.boot();
        expect(await robot.failedUnits()).toBe("");
        await installPackage(robot, plant.deb);
        await robot.until(({ state }) => state === "registered");
        expect(sent()).toBe(0);
        await robot.run(`dpkg --remove ${PACKAGE}; dpkg --remove ${PACKAGE}`);
      });
    });

    test("power cut during an upgrade → dpkg repairs it, the registration stays", async ({ annotate }) => {
      const found: string[] = [];
      const unpacking = (robot: Computer) => {
        const file = plant.site.path(robot.disk(`/usr/lib/${PACKAGE}/node.dpkg-new`));
        return eventually(async () => existsSync(file) || undefined, "dpkg to unpack");
      };
      const others = isLong ? [200, 500, 900] : [];
      for (const moment of [unpacking, ...others.map((ms) => () => sleep(ms))]) {
        await using robot = await boot({ disk: "journaled" });
        await robot.run("sync");
        const state = await robot.ask(`sha256sum ${STATE_FILE}`);
        const interrupted = installPackage(robot, plant.newer, { may_fail: true }).catch(() => null);
        await Promise.race([moment(robot), interrupted]);
        await robot.cutPower();
        await interrupted;
        await robot.boot();
        found.push(await robot.ask(`dpkg-query --show --showformat='\${Status} \${Version}' ${PACKAGE}`));
        await robot.run("dpkg --configure --pending || true");
        await installPackage(robot, plant.newer);
        expect(await robot.ask("dpkg --audit")).toBe("");
        await robot.run(`systemctl start ${UNIT}`);
        const { daemon } = await robot.until((status) => status.state === "registered");
        expect(daemon?.version, `cut where dpkg had come to ${found.at(-1)}`).toBe(NEWER_VERSION);
        expect(await robot.ask(`sha256sum ${STATE_FILE}`)).toBe(state);
        expect(sent()).toBe(0);
      }
      await annotate(`dpkg found after the cuts: ${found.join("; ")}`);
    });

    test("purge after install, upgrade and boot → no file, user or unit is left", async () => {
      await using robot = await plant.bare();
      await robot.boot();
      const former = await inventory(robot);
      await installPackage(robot, plant.deb);
      await provision(robot, plant.service);
      await robot.run(`${PACKAGE} --setup; systemctl start ${UNIT}`);
      await installPackage(robot, plant.newer);
      await robot.until(({ state }) => state === "registered");
      await robot.shutdown();
      await robot.boot();
      await robot.until(({ state }) => state === "registered");
      await failFirstBoot(robot);
      await robot.run(`rm -r /opt/yam; dpkg --purge ${PACKAGE}`);
      const left = (await inventory(robot)).filter((line) => !former.includes(line));
      expect(left).toEqual([]);
      expect(await robot.ask(`systemctl list-unit-files --no-legend '${PACKAGE}*' | cat`)).toBe("");
      expect(await robot.failedUnits()).toBe("");
    });
  },
);

/** Has the unit of the first boot fail, as on a robot that could not be registered. */
async function failFirstBoot(robot: RobotComputer): Promise<void> {
  const unit = `${PACKAGE}-setup.service`;
  const dropIn = `/run/systemd/system/${unit}.d/fails.conf`;
  const settings = "[Unit]\nConditionPathExists=\n[Service]\nRestart=no\nExecStart=\nExecStart=/bin/false\n";
  await robot.write(dropIn, settings);
  await robot.run(`systemctl daemon-reload; systemctl start ${unit} || true`);
  await untilTrue(robot, `systemctl is-failed --quiet ${unit}`);
  await robot.run(`rm -r ${dropIn.replace("/fails.conf", "")}`);
}

/** The state as an agent with the next schema writes it, with a valid checksum. */
function asNewerState(text: string): string {
  const { registration } = JSON.parse(text) as { readonly registration: unknown };
  const schemaVersion = SCHEMA_VERSION + 1;
  const sealed = { schema_version: schemaVersion, checksum: checksum(schemaVersion, registration), registration };
  return `${JSON.stringify(sealed, null, 2)}\n`;
}
