/**
 * Images that are flashed to many robots: each becomes a robot of its own at its first boot.
 *
 * @module-tag needs/machine
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { tellJournals } from "../support/nspawn/journal.ts";
import { debianPackage, PACKAGE } from "../support/nspawn/package.ts";
import {
  CONFIGURATION_FILE,
  createRobotComputer,
  installPackage,
  KEY_FILE,
  provision,
  type RobotComputer,
  UNIT,
} from "../support/nspawn/robot.ts";
import { BOOKWORM, debianRoot, LIMIT_MS, RELEASES, STEP_BY_STEP } from "../support/nspawn/root.ts";
import { type SiteService, startSiteService } from "../support/nspawn/service.ts";
import { openSite, type Site, whySkipped } from "../support/nspawn/site.ts";
import { eventually } from "../support/robot/robot.ts";

const SETUP_UNIT = `${PACKAGE}-setup.service`;

describe.skipIf(whySkipped !== "").each(RELEASES.filter(({ systemd }) => systemd >= BOOKWORM.systemd))(
  `image, step by step, of $suite, systemd $systemd${whySkipped}`,
  STEP_BY_STEP,
  (release) => {
    const resources = new AsyncDisposableStack();
    let site: Site;
    let service: SiteService;
    let image: RobotComputer;
    let system: readonly string[];

    beforeAll(async () => {
      const deb = await debianPackage();
      system = [await debianRoot(release), deb.layer];
      site = resources.use(await openSite());
      service = resources.use(await startSiteService(site));
      image = resources.use(await createRobotComputer(site, { layers: system, hostname: "image" }));
      // The state before the first boot, see machine-id(5).
      await image.image.write("/etc/machine-id", "uninitialized\n");
      // It would ask for a password at the console.
      await image.image.run("systemctl mask systemd-firstboot.service");
      await installPackage(image.image, deb);
      await provision(image.image, service);
    }, LIMIT_MS);

    afterEach(tellJournals);
    afterAll(() => resources.disposeAsync());

    const flash = async (hostname: string) =>
      createRobotComputer(site, { layers: [image.layer(), ...system], hostname });

    test("installing into the image → nothing starts, nothing is asked, the machine id stays", async () => {
      expect(await image.image.ask("cat /etc/machine-id")).toBe("uninitialized");
      expect(await image.image.ask(`systemctl is-enabled ${UNIT} ${SETUP_UNIT} || true`)).toBe("enabled\ndisabled");
      expect(await image.image.ask(`ls -A /var/lib/${PACKAGE} /run/${PACKAGE} 2>/dev/null || true`)).toBe(
        `/var/lib/${PACKAGE}:`,
      );
      expect(service.requests).toEqual([]);
    });

    test("12: two robots of one image → register as two robots", async () => {
      await using first = await flash("cell-1");
      await using second = await flash("cell-2");
      await Promise.all([first.boot(), second.boot()]);
      for (const robot of [first, second]) await robot.until(({ state }) => state === "registered");
      expect(await first.ask("cat /etc/machine-id")).not.toBe(await second.ask("cat /etc/machine-id"));
      expect((await service.robots()).map(({ name }) => name).toSorted()).toEqual(["cell-1", "cell-2"]);
      await service.allLogged();
      const registrations = service.requests.filter(({ method }) => method === "POST");
      expect(registrations).toHaveLength(2);
    });

    test("12: image with an enrollment key → two robots enroll by themselves, and no key of the organization stays on them", async () => {
      const expiresAt = new Date(Date.now() + 24 * 60 * 60_000).toISOString();
      const { body } = await service.send("POST", "/v1/me/api-keys", {
        label: "plant",
        scopes: ["robots:enroll"],
        enrollment: { uses: 2 },
        expires_at: expiresAt,
      });
      await using bulk = await flash("bulk");
      const keyFile = `/var/lib/${PACKAGE}/enrolment-key`;
      await bulk.image.run(
        `umask 077; cat >${keyFile}; chown ${PACKAGE}: ${keyFile}; rm ${KEY_FILE}
        sed -i 's|^service:|service:\\n  identity: enrolled\\n  enrolment_key_file: ${keyFile}|' ${CONFIGURATION_FILE}`,
        { input: `${String(body["api_key"])}\n` },
      );
      const layers = [bulk.layer(), image.layer(), ...system];
      await using first = await createRobotComputer(site, { layers, hostname: "bulk-1" });
      await using second = await createRobotComputer(site, { layers, hostname: "bulk-2" });
      await first.cable("pulled");
      await Promise.all([first.boot(), second.boot()]);
      expect([await first.ask(`systemctl is-active ${UNIT}`), await first.failedUnits()]).toEqual(["active", ""]);
      await first.cable("plugged");
      const fingerprints = new Set<unknown>();
      for (const robot of [first, second]) {
        await robot.until(({ state }) => state === "registered");
        const installation = await service.send("GET", `/v1/robots/${robot.hostname}/installation`);
        expect(installation.body).toMatchObject({ state: "active" });
        fingerprints.add(installation.body["key_fingerprint"]);
        // Keys of the organization have this prefix; the robot's own credential does not.
        expect(
          await robot.ask("grep -rlE 'sk_[a-z]+_[0-9A-Za-z]{20}' /etc /run /var /root /home /tmp 2>/dev/null || true"),
        ).toBe("");
      }
      expect(fingerprints.size).toBe(2);
    });

    test("setup unit, network comes later → registers once, without the daemon", async () => {
      await using robot = await flash("cell-3");
      // The presets of a first boot would enable a disabled one.
      await robot.image.run(`systemctl mask ${UNIT}; systemctl enable ${SETUP_UNIT}`);
      await robot.cable("pulled");
      await robot.image.run(
        `mkdir -p /etc/systemd/system/${SETUP_UNIT}.d; printf '[Service]\\nRestartSec=1\\n' >/etc/systemd/system/${SETUP_UNIT}.d/quick.conf`,
      );
      await robot.boot();
      expect(await robot.failedUnits()).toBe("");
      // What systemd itself says of an attempt without a network.
      const said = await eventually(async () => {
        const journal = await robot.ask(`journalctl --no-pager _PID=1 UNIT=${SETUP_UNIT}`);
        return journal.includes("Main process exited") ? journal : undefined;
      }, "an attempt without a network");
      expect(said).toContain("status=69/UNAVAILABLE");
      expect(said).not.toContain("credential");
      await robot.cable("plugged");
      const registered = await eventually(
        async () => (await service.robots()).find(({ name }) => name === "cell-3"),
        "cell-3 to be registered",
      );
      expect(registered.configuration_digest).toBe(await robot.digest());
      // It is also inactive between two attempts, and one answer may be lost while the network starts.
      await eventually(async () => {
        const shown = await robot.ask(`systemctl show -p ActiveState,Result ${SETUP_UNIT}`);
        return /^ActiveState=inactive$/m.test(shown) && /^Result=success$/m.test(shown) ? true : undefined;
      }, "the unit to have succeeded");
      const before = service.requests.length;
      await robot.shutdown();
      await robot.boot();
      expect(await robot.ask(`systemctl show --value -p ConditionResult ${SETUP_UNIT}`)).toBe("no");
      await service.allLogged();
      expect(service.requests).toHaveLength(before);
    });
  },
);
