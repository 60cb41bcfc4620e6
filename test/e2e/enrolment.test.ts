/**
 * A robot that enrolls and gets its own credential: no API key is ever stored on it.
 *
 * @module-tag needs/machine
 */
import { readFileSync } from "node:fs";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { tellJournals } from "../support/nspawn/journal.ts";
import { debianPackage, PACKAGE } from "../support/nspawn/package.ts";
import { textsInMemory } from "../support/nspawn/process-memory.ts";
import {
  CONFIGURATION_FILE,
  createRobotComputer,
  installPackage,
  ROBOT_FILES,
  type RobotComputer,
  UNIT,
  untilTrue,
} from "../support/nspawn/robot.ts";
import { debianRoot, LIMIT_MS, RELEASES, STEP_BY_STEP } from "../support/nspawn/root.ts";
import { SITE_CA_FILE, type SiteService, startSiteService } from "../support/nspawn/service.ts";
import { PATIENCE_MS } from "../support/run/patience.ts";
import { OPERATOR_PROGRAM } from "../support/programs/programs-built.ts";
import { openSite, type Site, SITE_ADDRESS, whySkipped } from "../support/nspawn/site.ts";

const STATE = `/var/lib/${PACKAGE}`;
const CA_FILE = `/etc/${PACKAGE}/site-ca.pem`;

describe.skipIf(whySkipped !== "").each(RELEASES)(
  `robot that enrolls, step by step, under $suite, systemd $systemd${whySkipped}`,
  STEP_BY_STEP,
  (release) => {
    const resources = new AsyncDisposableStack();
    let site: Site;
    let service: SiteService;
    let robot: RobotComputer;

    beforeAll(async () => {
      const deb = await debianPackage();
      const root = await debianRoot(release);
      site = resources.use(await openSite());
      service = resources.use(await startSiteService(site));
      robot = resources.use(await createRobotComputer(site, { layers: [root, deb.layer], hostname: "arm-8" }));
      await robot.boot();
      await installPackage(robot, deb);
      for (const path of ROBOT_FILES) await robot.write(path, `# ${path}\noffsets: [0.0, 0.1, -0.2]\n`);
      await robot.write(CA_FILE, service.ca);
    }, LIMIT_MS);

    afterEach(tellJournals);
    afterAll(() => resources.disposeAsync());

    /** The service's view of the robot's computer. */
    const installation = async () => (await service.send("GET", "/v1/robots/arm-8/installation")).body;

    test("init and enroll on the robot, approve by the operator → registered", async () => {
      const flags = `--url ${service.url} --ca-file ${CA_FILE} --region eu-central-1 --type yam.bimanual-joint-position.v1`;
      const files = ROBOT_FILES.map((path) => `--file ${path}`).join(" ");
      await robot.run(`${PACKAGE} init ${flags} ${files}`);
      // Short, because tests below wait for heartbeats.
      await robot.run(`sed -i 's|^service:|service:\\n  heartbeat_s: 5|' ${CONFIGURATION_FILE}`);
      const enrolling = robot.run(`${PACKAGE} enroll`);
      const enrolment = `${STATE}/identity-enrolment.json`;
      await untilTrue(robot, `grep -q '"user_code"' ${enrolment}`);
      const code = await robot.ask(`sed -n 's/.*"user_code": "\\(.*\\)".*/\\1/p' ${enrolment}`);
      const operator = `ROBOT_POLICY_URL=https://${SITE_ADDRESS} ROBOT_POLICY_API_KEY=${service.key} NODE_EXTRA_CA_CERTS=${SITE_CA_FILE}`;
      const approve = `${process.execPath} ${OPERATOR_PROGRAM} robots approve ${code} --yes`;
      await site.run(`env ${operator} ${approve}`.split(" "));
      const enrolled = await enrolling;
      expect(enrolled.stdout).toMatch(/^Enrolled as arm-8 /m);
      expect(enrolled.stdout).toMatch(/^(?:Registered|Already registered:) arm-8 as rob_/m);
      expect(await robot.ask(`systemctl is-active ${UNIT}`)).toBe("active");
      expect(await robot.failedUnits()).toBe("");
      expect(await service.robots()).toEqual([{ name: "arm-8", configuration_digest: await robot.digest() }]);
      expect(await installation()).toMatchObject({ state: "active", generation: 1 });
      expect((await robot.agent("status")).code).toBe(0);
    });

    test("API key of the organization → not on disk, in the journal or in processes", async () => {
      await robot.run("sync");
      const key = service.key.slice(3);
      const found = await robot.ask(
        `grep -rlF '${key}' /etc /run /var /usr/lib/${PACKAGE} /root /home /tmp 2>/dev/null || true
        journalctl --no-pager | grep -F '${key}' || true; ps -eo args | grep -F '${key}' | grep -v grep || true
        grep -alF '${key}' /proc/$(systemctl show --value -p MainPID ${UNIT})/environ || true`,
      );
      expect(found).toBe("");
      const modes = await robot.ask(`stat -c '%a %U %n' ${STATE}/identity-*.json | sort`);
      expect(modes.split("\n").every((line) => line.startsWith(`600 ${PACKAGE} `))).toBe(true);
    });

    test("API key of the organization → not in memory; core dumps are off", async () => {
      const folder = robot.live(`/proc/${await robot.show("MainPID")}`);
      const credential = await robot.ask(`grep -ohE 'rps_robot_[0-9A-Za-z]{28}' ${STATE}/identity-credential.json`);
      // Finding the robot's own credential proves that the search works.
      expect(textsInMemory(folder, [service.key.slice(3), credential])).toEqual([credential]);
      expect(readFileSync(`${folder}/limits`, "utf8")).toMatch(/^Max core file size +0 +0 /m);
    });

    test("its own credential → in its file only", async () => {
      const secrets = await robot.ask(
        `grep -ohE 'rps_robot_[0-9A-Za-z]{28}' ${STATE}/identity-credential.json | sort -u`,
      );
      expect(secrets.split("\n")).toHaveLength(1);
      const found = await robot.ask(
        `journalctl --no-pager | grep -F '${secrets}' || true
        grep -rlF '${secrets}' /etc /run /var /root /tmp 2>/dev/null || true`,
      );
      expect(found).toBe(`${STATE}/identity-credential.json`);
    });

    test("power cut, boot → heartbeats continue, no new registration", async () => {
      await robot.cutPower();
      await robot.boot();
      await robot.until(({ state }) => state === "registered");
      await expect.poll(installation, { timeout: PATIENCE_MS }).toMatchObject({ state: "active", readiness: "ready" });
      await service.allLogged();
      const setups = service.requests.filter(({ path }) => path === "/v1/robots/setup");
      expect(setups).toHaveLength(1);
    });

    test("robot removed → status unenrolled, no more requests", async () => {
      await service.send("DELETE", "/v1/robots/arm-8");
      const { identity } = await robot.until(({ state }) => state === "unenrolled");
      expect(identity?.user_code ?? null).toBe(null);
      expect((await robot.agent("status")).code).not.toBe(0);
    });

    test("enroll --no-wait → the running agent shows a code in journal and status; approved → registers", async () => {
      const shown = await robot.agent("enroll --no-wait");
      const { identity } = await robot.until(({ state }) => state === "waiting-for-approval");
      const code = identity?.user_code ?? "none";
      expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining(code)]);
      await robot.wroteToJournal(new RegExp(code));
      await service.send("POST", "/v1/robots/approve", { user_code: code });
      await robot.until(({ state }) => state === "registered");
    });
  },
);
