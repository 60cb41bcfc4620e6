/**
 * Images that are flashed to many robots: each becomes a robot of its own at its first boot.
 *
 * @module-tag needs/machine
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { argvOf, pageBlock } from "../support/documents/blocks.ts";
import { tellJournals } from "../support/nspawn/journal.ts";
import { debianPackage, PACKAGE } from "../support/nspawn/package.ts";
import {
  CONFIGURATION_FILE,
  createRobotComputer,
  installPackage,
  MANIFEST_FILE,
  provision,
  ROBOT_FILES,
  type RobotComputer,
  UNIT,
} from "../support/nspawn/robot.ts";
import { BOOKWORM, debianRoot, LIMIT_MS, RELEASES, STEP_BY_STEP } from "../support/nspawn/root.ts";
import { SITE_CA_FILE, SITE_KEY_FILE, type SiteService, startSiteService } from "../support/nspawn/service.ts";
import { openSite, type Site, SITE_ADDRESS, whySkipped } from "../support/nspawn/site.ts";
import { OPERATOR_PROGRAM } from "../support/programs/programs-built.ts";
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

    test("12: twenty robots from one image, as the page says → robots enroll by themselves, and no key of the organization stays on them", async () => {
      await using bulk = await createRobotComputer(site, { layers: system, hostname: "bulk" });
      await fillAsThePageSays(bulk);
      const layers = [bulk.layer(), ...system];
      await using first = await createRobotComputer(site, { layers, hostname: "bulk-1" });
      await using second = await createRobotComputer(site, { layers, hostname: "bulk-2" });
      await first.cable("pulled");
      await Promise.all([first.boot(), second.boot()]);
      expect([await first.ask(`systemctl is-active ${UNIT}`), await first.failedUnits()]).toEqual(["active", ""]);
      await first.cable("plugged");
      for (const robot of [first, second]) {
        await robot.until(({ state }) => state === "registered");
        // Keys of the organization have this prefix; the robot's own credential does not.
        expect(
          await robot.ask("grep -rlE 'sk_[a-z]+_[0-9A-Za-z]{20}' /etc /run /var /root /home /tmp 2>/dev/null || true"),
        ).toBe("");
      }
      const listed = await operator(["robots", "list", "--site", "plant-1", "--columns", "name"]);
      const names = listed.stdout.match(/^cell-[0-9a-f]{12,}$/gm) ?? [];
      const installations = await Promise.all(
        names.map(async (name) => (await service.send("GET", `/v1/robots/${name}/installation`)).body),
      );
      expect(installations).toMatchObject([{ state: "active" }, { state: "active" }]);
      expect(new Set(installations.map(({ key_fingerprint: key }) => key)).size).toBe(2);
    });

    const operator = (argv: readonly string[]) => {
      const connection = ["--url", `https://${SITE_ADDRESS}`, "--ca-file", SITE_CA_FILE, "--key-file", SITE_KEY_FILE];
      return site.run([process.execPath, OPERATOR_PROGRAM, ...argv, ...connection]);
    };

    /** Every block of "Twenty robots from one image", with the site's service and its authority. */
    async function fillAsThePageSays(bulk: RobotComputer): Promise<void> {
      const makeKey = argvOf(
        await pageBlock(
          "systemd/README.md: robot-policy keys create 'images of July' --enroll --uses 20 --expires 7d --site plant-1 --out ./enrolment-key",
        ),
      );
      const fill = await pageBlock("systemd/README.md: apt install ./robot-policy-agent_0.1.0_amd64.deb");
      const configuration = await pageBlock("systemd/README.md: # /etc/robot-policy-agent/config.yaml");
      const manifest = await pageBlock("systemd/README.md: # /etc/robot-policy-agent/robot-manifest.yaml");

      await bulk.image.run("systemctl mask systemd-firstboot.service");
      await operator(makeKey.map((word) => word.replace("./", bulk.disk("/root/"))));
      for (const path of ROBOT_FILES) await bulk.image.write(path, `# ${path}\noffsets: [0.0, 0.1, -0.2]\n`);
      const script = fill.text.replace(/apt install \S+/, `dpkg --install ${(await debianPackage()).path}`);
      await bulk.image.run(`cd /root\n${script}`);
      await bulk.image.write("/etc/ca.pem", service.ca);
      const own = configuration.text.replace(/url: .*/, `url: ${service.url}\n  ca_file: /etc/ca.pem`);
      await bulk.image.write(CONFIGURATION_FILE, own);
      await bulk.image.write(MANIFEST_FILE, manifest.text);
    }

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
