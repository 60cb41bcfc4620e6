/**
 * A robot without an agent in between: the timer in place of the service.
 *
 * @module-tag needs/machine
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { pageBlock, rootScript } from "../support/documents/blocks.ts";
import { tellJournals } from "../support/nspawn/journal.ts";
import { debianPackage, NEWER_VERSION, PACKAGE } from "../support/nspawn/package.ts";
import {
  createRobotComputer,
  installPackage,
  provision,
  ROBOT_FILES,
  type RobotComputer,
  UNIT,
  untilTrue,
} from "../support/nspawn/robot.ts";
import { debianRoot, LIMIT_MS, RELEASES, STEP_BY_STEP } from "../support/nspawn/root.ts";
import { type SiteService, startSiteService } from "../support/nspawn/service.ts";
import { openSite, whySkipped } from "../support/nspawn/site.ts";
import type { StatusDocument } from "../../src/agent/status.ts";
import { eventually } from "../support/robot/robot.ts";

const TIMER = `${PACKAGE}.timer`;
const LOOK = `${PACKAGE}-look.service`;

describe.skipIf(whySkipped !== "").each(RELEASES)(
  `timer in place of the service, step by step, under $suite, systemd $systemd${whySkipped}`,
  STEP_BY_STEP,
  (release) => {
    const resources = new AsyncDisposableStack();
    let service: SiteService;
    let robot: RobotComputer;

    beforeAll(async () => {
      const [deb, newer] = [await debianPackage(), await debianPackage(NEWER_VERSION)];
      const site = resources.use(await openSite());
      service = resources.use(await startSiteService(site));
      const layers = [await debianRoot(release), deb.layer, newer.layer];
      robot = resources.use(await createRobotComputer(site, { layers, hostname: "arm-7" }));
      await robot.boot();
      await installPackage(robot, deb);
      await provision(robot, service);
    }, LIMIT_MS);

    afterEach(tellJournals);
    afterAll(() => resources.disposeAsync());

    const showTimer = (property: string) => robot.ask(`systemctl show --value -p ${property} ${TIMER}`);
    /** Resolves after this number of further looks, which are over. */
    async function looks(count: number): Promise<void> {
      for (let look = 0; look < count; look += 1) await robot.run(`systemctl start ${LOOK}`);
    }
    const isRegistered = async () => {
      const digest = await robot.digest();
      const [stored] = await service.robots();
      return stored?.configuration_digest === digest || undefined;
    };
    /** Before systemd 248 LogLevelMax= is not for what systemd itself says of the unit. */
    const ofUnit = release.systemd >= 248 ? `-u ${LOOK}` : `_SYSTEMD_UNIT=${LOOK}`;
    const journal = () => robot.ask(`journalctl -b -o cat --no-pager ${ofUnit}`);

    test("systemctl enable --now of the timer → registered by its first look, and no agent runs", async () => {
      const block = await pageBlock("systemd/README.md: sudo systemctl disable --now robot-policy-agent.service");
      await robot.run(rootScript(block));
      await eventually(isRegistered, "the first registration");
      await untilTrue(robot, `! pgrep -u ${PACKAGE}`);
      expect(await robot.show("ActiveState")).toBe("inactive");
      // The next one a minute after the start of the last.
      expect(await showTimer("TimersMonotonic")).toMatch(/OnUnitActiveUSec=1min/);
      expect(await journal()).toMatch(/^\{"level":"notice",.*"event":"registered"\}$/);
    });

    test("looks that find nothing → no request, no line in the journal, nothing written", async () => {
      await looks(3);
      const state = `find /var/lib/${PACKAGE} /var/cache/${PACKAGE} /run/${PACKAGE} -printf '%p %i %T@ %C@\\n' | sort`;
      const [written, said] = [await robot.ask(state), await journal()];
      await service.allLogged();
      const before = service.requests.length;
      await looks(3);
      expect(await robot.ask(state)).toBe(written);
      expect(await journal()).toBe(said);
      await service.allLogged();
      expect(service.requests.length).toBe(before);
    });

    test("a change → registered by the next look", async () => {
      await robot.run(`echo '# changed' >>${ROBOT_FILES[0]}`);
      await looks(1);
      expect(await isRegistered()).toBe(true);
    });

    test("status, doctor → say that a timer looks, when it looked, and that all is well", async () => {
      const { code, stdout } = await robot.agent("status --json");
      const { state, healthy, daemon, timer } = JSON.parse(stdout) as StatusDocument;
      expect([code, state, healthy, daemon]).toEqual([0, "registered", true, null]);
      expect(timer).toMatchObject({ last_result: "success", heartbeat_problem: null });
      const agoMs = Date.now() - Date.parse(timer?.last_look_at ?? "");
      expect(agoMs).toBeGreaterThan(0);
      expect(agoMs).toBeLessThan(70_000);
      const examined = await robot.agent("doctor");
      expect(examined.stdout).toMatch(/^ok +unit +a timer looks each minute/m);
      expect(examined.stdout).toMatch(/^ok +daemon +Registered as arm-7/m);
    });

    test("hold by a member of the group → nothing is registered; release → registered by the next look", async () => {
      const member = (words: string) =>
        robot.run(`setpriv --reuid 65534 --regid ${PACKAGE} --clear-groups ${PACKAGE} ${words}`);
      const before = await service.robots();
      await member("hold --for 10m --reason 'both arms'");
      await robot.run(`echo '# held' >>${ROBOT_FILES[0]}`);
      await looks(1);
      expect(await service.robots()).toEqual(before);
      expect((await robot.agent("status")).stdout).toContain("both arms");
      await member("release");
      expect((await robot.agent("status")).stdout).toContain("Registering arm-7");
      await looks(1);
      expect(await isRegistered()).toBe(true);
    });

    test("no network → one warning for all looks; then registered", async () => {
      await robot.cable("pulled");
      await robot.run(`echo '# changed again' >>${ROBOT_FILES[0]}`);
      await looks(2);
      const warnings = await robot.ask(`journalctl -b -p warning -o cat --no-pager -u ${LOOK}`);
      expect(warnings.match(/"event":"unreachable"/g)).toHaveLength(1);
      expect(await robot.failedUnits()).toBe("");
      await robot.cable("plugged");
      await looks(1);
      expect(await isRegistered()).toBe(true);
    });

    test("boot → the timer looks; upgrade → it goes on", async () => {
      await robot.shutdown();
      await robot.boot();
      await robot.run(`echo '# before the boot was over' >>${ROBOT_FILES[0]}`);
      await looks(1);
      expect(await isRegistered()).toBe(true);
      await installPackage(robot, await debianPackage(NEWER_VERSION));
      expect(await showTimer("ActiveState")).toBe("active");
      expect(await robot.show("ActiveState")).toBe("inactive");
      expect(await robot.failedUnits()).toBe("");
    });

    test("systemctl start of the service → the timer stops; purge → nothing is left", async () => {
      await robot.run(`systemctl start ${UNIT}`);
      await robot.until(({ state }) => state === "registered");
      expect(await showTimer("ActiveState")).toBe("inactive");
      await robot.run(`dpkg --purge ${PACKAGE}`);
      expect(await robot.ask(`systemctl list-unit-files --no-legend '${PACKAGE}*' | cat`)).toBe("");
    });
  },
);
