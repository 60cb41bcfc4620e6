/**
 * Both packages from a signed repository, by apt alone, on clean machines.
 *
 * @module-tag needs/machine
 */
import { mkdtempSync } from "node:fs";
import { chmod, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { publish } from "../../scripts/packaging/repository.ts";
import { pageBlock, rootScript } from "../support/documents/blocks.ts";
import { tellJournals } from "../support/nspawn/journal.ts";
import { debianPackage, NEWER_VERSION, PACKAGE, SECOND_PACKAGE } from "../support/nspawn/package.ts";
import { createRobotComputer, provision, type RobotComputer, STATE_FILE, UNIT } from "../support/nspawn/robot.ts";
import { debianRoot, LIMIT_MS, RELEASES, STEP_BY_STEP } from "../support/nspawn/root.ts";
import { type SiteService, startSiteService } from "../support/nspawn/service.ts";
import { openSite, whySkipped } from "../support/nspawn/site.ts";
import { execute } from "../support/programs/execute.ts";
import { hasProgram } from "../support/programs/programs.ts";

const whyNot = whySkipped !== "" || hasProgram("apt-ftparchive") ? whySkipped : " (skipped: apt-get install apt-utils)";
const KEY = "release@robot-policy-agent.invalid";
/** Where the machines find it: a link to what is published by now. */
const REPOSITORY = "/srv/repository";

describe.skipIf(whyNot !== "").each(RELEASES)(
  `repository, step by step, under $suite${whyNot}`,
  STEP_BY_STEP,
  (release) => {
    const resources = new AsyncDisposableStack();
    const layer = mkdtempSync(join(tmpdir(), "repository-"));
    let service: SiteService;
    let robot: RobotComputer;

    beforeAll(async () => {
      const [deb, newer] = [await debianPackage(), await debianPackage(NEWER_VERSION)];
      // Of a disk: users of the machine, such as apt's own, have to reach what is below.
      await chmod(layer, 0o755);
      const home = join(layer, "gpg");
      await mkdir(home, { mode: 0o700 });
      resources.defer(() => rm(layer, { recursive: true, force: true }));
      const former = process.env["GNUPGHOME"];
      process.env["GNUPGHOME"] = home;
      resources.defer(async () => {
        await execute(["gpgconf", "--homedir", home, "--kill", "gpg-agent"]);
        if (former === undefined) delete process.env["GNUPGHOME"];
        else process.env["GNUPGHOME"] = former;
      });
      await execute(["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key", KEY]);
      const first = [deb.file, deb.second.file];
      const url = `file:${REPOSITORY}`;
      await publish({ folder: join(layer, "srv/first"), debs: first, key: KEY, url });
      const debs = [...first, newer.file, newer.second.file];
      await publish({ folder: join(layer, "srv/second"), debs, key: KEY, url });

      const site = resources.use(await openSite());
      service = resources.use(await startSiteService(site));
      const layers = [layer, await debianRoot(release)];
      robot = resources.use(await createRobotComputer(site, { layers, hostname: "arm-7" }));
      await robot.boot();
      await robot.run(`rm -f /etc/apt/sources.list; ln -s first ${REPOSITORY}`);
    }, LIMIT_MS);

    afterEach(tellJournals);
    afterAll(() => resources.disposeAsync());

    const apt = (command: string) =>
      robot.run(`export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8; ${command}`, { limitMs: LIMIT_MS });

    test("key and .sources file → apt update without a complaint, apt install of both", async () => {
      const block = await pageBlock(
        "systemd/README.md: sudo install -D -m 644 robot-policy.asc /etc/apt/keyrings/robot-policy.asc",
      );
      const script = rootScript(block).replace("apt update && apt install", "apt-get update && apt-get install --yes");
      const { stdout, stderr } = await apt(`cd ${REPOSITORY}\n${script}`);
      expect(stdout + stderr).not.toMatch(/^[WE]:/m);
      await apt(`apt-get install --yes ${SECOND_PACKAGE}`);
      const versions = `${PACKAGE} --version; robot-policy --version; robot-policy-service --version`;
      expect(await robot.ask(versions)).toMatch(/^(\S+)\n\1\n\1$/);
      expect(await robot.failedUnits()).toBe("");
      expect(await robot.ask(`dpkg --verify ${PACKAGE} ${SECOND_PACKAGE}`)).toBe("");
      await provision(robot, service);
      await robot.run(`systemctl start ${UNIT}`);
      await robot.until(({ state }) => state === "registered");
    });

    test("41: apt upgrade after a newer version is published → runs at once, the registration stays, no request", async () => {
      const state = await robot.ask(`sha256sum ${STATE_FILE}`);
      await service.allLogged();
      const before = service.requests.length;
      await robot.run(`ln -sfn second ${REPOSITORY}`);
      await apt("apt-get update; apt-get upgrade --yes");
      const { daemon } = await robot.until((status) => status.state === "registered");
      expect(daemon?.version).toBe(NEWER_VERSION);
      expect(await robot.ask("robot-policy --version")).toBe(NEWER_VERSION);
      expect(await robot.ask(`sha256sum ${STATE_FILE}`)).toBe(state);
      await service.allLogged();
      expect(service.requests.length).toBe(before);
    });

    test("apt purge → both are gone", async () => {
      await apt(`apt-get purge --yes ${PACKAGE} ${SECOND_PACKAGE}`);
      const left = `getent passwd ${PACKAGE}; ls -d /usr/lib/robot-policy* /etc/robot-policy* /var/lib/robot-policy* 2>/dev/null`;
      expect((await robot.run(left, { may_fail: true })).stdout).toBe("");
      expect(await robot.failedUnits()).toBe("");
    });
  },
);
