/**
 * The service from its package, under a systemd that runs it.
 *
 * @module-tag needs/machine
 */
import { dirname, join } from "node:path";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { pageBlock, rootScript } from "../support/documents/blocks.ts";
import { ROOT } from "../support/documents/pages.ts";
import { tellJournals } from "../support/nspawn/journal.ts";
import { type Computer, createComputer } from "../support/nspawn/nspawn.ts";
import { debianPackage, NEWER_VERSION, SECOND_PACKAGE } from "../support/nspawn/package.ts";
import { wroteToJournal } from "../support/nspawn/robot.ts";
import { BOOKWORM, debianRoot, LIMIT_MS, RELEASES, STEP_BY_STEP } from "../support/nspawn/root.ts";
import { openSite, type Site, whySkipped } from "../support/nspawn/site.ts";
import { OPERATOR_PROGRAM, SERVICE_PROGRAM } from "../support/programs/programs-built.ts";
import { eventually } from "../support/robot/robot.ts";

const HOSTNAME = "policy-1";
/** The address of the first computer of a site. */
const OWN_ADDRESS = "10.77.1.1";
const UNIT = "robot-policy-service.service";
const PROGRAM = "robot-policy-service";

describe.skipIf(whySkipped !== "").each(RELEASES.filter(({ systemd }) => systemd >= BOOKWORM.systemd))(
  `robot-policy-service.service, step by step, under systemd $systemd${whySkipped}`,
  STEP_BY_STEP,
  (release) => {
    const resources = new AsyncDisposableStack();
    let computer: Computer;
    let site: Site;

    beforeAll(async () => {
      const [deb, newer] = [await debianPackage(), await debianPackage(NEWER_VERSION)];
      site = resources.use(await openSite());
      const layers = [await debianRoot(release), deb.layer, newer.layer];
      computer = resources.use(await createComputer(site, { layers, hostname: HOSTNAME }));
      const install = await pageBlock("src/service/PRODUCTION.md: sudo apt install ./robot-policy_0.1.0_amd64.deb");
      await computer.image.run(installing(deb.second.path, rootScript(install)));
      // Tests start it two dozen times, so use a compile cache and a short restart delay.
      await computer.image.write(
        `/etc/systemd/system/${UNIT}.d/test.conf`,
        `[Service]\nRestartSec=100ms\nCacheDirectory=${PROGRAM}\nEnvironment=NODE_COMPILE_CACHE=/var/cache/${PROGRAM}\n`,
      );
      await computer.boot();
      await configure("listen: 127.0.0.1:8080");
    }, LIMIT_MS);

    afterEach(tellJournals);
    afterAll(() => resources.disposeAsync());

    const configure = (lines: string) =>
      computer.write(
        `/etc/${PROGRAM}/config.yaml`,
        `${lines}\ndata: /var/lib/${PROGRAM}\nbootstrap_key_file: /var/lib/${PROGRAM}/bootstrap-key\n`,
      );
    /** The first line of the answer, using Bash because a small Debian has no other TCP client. */
    const get = (path: string, host = "127.0.0.1", port = 8080) =>
      computer.ask(
        `timeout 20 bash -c 'exec 3<>/dev/tcp/${host}/${port}; printf "GET ${path} HTTP/1.0\\r\\n\\r\\n" >&3; head -1 <&3 | tr -d "\\r"'`,
        { may_fail: true },
      );
    const show = (property: string) => computer.ask(`systemctl show --value -p ${property} ${UNIT}`);
    /** Resolves when systemd runs another process that is ready. */
    const restartedAfter = (former: string) =>
      eventually(async () => {
        // Both in one call, because the former process is still "active" for a while.
        const output = await computer.ask(`systemctl show --value -p ActiveState -p MainPID ${UNIT} | sort`);
        const [processId, state] = output.split("\n");
        return state === "active" && processId !== "0" && processId !== former ? true : undefined;
      }, "another process to be ready");

    test("package → command line and service are there, the unit is neither enabled nor failed", async () => {
      expect(await computer.ask("robot-policy --version; robot-policy-service --version")).toMatch(/^(\S+)\n\1$/);
      expect(await show("UnitFileState")).toBe("disabled");
      expect(await show("ActiveState")).toBe("inactive");
    });

    test("start, following the page → returns once it answers requests", async () => {
      const start = await pageBlock(
        "src/service/PRODUCTION.md: sudo robot-policy-service serve --check --config /etc/robot-policy-service/config.yaml",
      );
      await computer.run(rootScript(start));
      expect(await get("/readyz")).toBe("HTTP/1.1 200 OK");
      expect(await show("StatusText")).not.toBe("");
    });

    test("user → one of its own, and its files are private", async () => {
      expect(await computer.ask(`ps -o user:32= -p ${await show("MainPID")}`)).toBe(PROGRAM);
      expect(await computer.ask(`stat -c "%a %U" /var/lib/${PROGRAM}/bootstrap-key`)).toBe(`600 ${PROGRAM}`);
      expect(await computer.ask(`stat -c "%a %U" /var/lib/${PROGRAM}`)).toBe(`700 ${PROGRAM}`);
    });

    test("console → served from the package", async () => {
      expect(await get("/login")).toBe("HTTP/1.1 200 OK");
    });

    test("systemctl reload → the same process, still answering", async () => {
      const processId = await show("MainPID");
      await computer.run(`systemctl reload ${UNIT}`);
      expect(await get("/readyz")).toBe("HTTP/1.1 200 OK");
      expect(await show("MainPID")).toBe(processId);
    });

    test("a key that can only register, following the page → is printed", async () => {
      const create = await pageBlock(
        "src/service/PRODUCTION.md: sudo robot-policy-service keys create --config /etc/robot-policy-service/config.yaml --label 'cell 4' --scope robots:setup",
      );
      expect(await computer.ask(rootScript(create))).toMatch(/sk_rps_/);
    });

    test("backup timer → a backup in its folder, which the metrics tell of", async () => {
      expect(await computer.ask(`systemctl is-active ${PROGRAM}-backup.timer`)).toBe("active");
      const folder = `/var/lib/${PROGRAM}-backup`;
      expect(await computer.ask(`ls ${folder}`)).toMatch(/^robot-policy-\d{4}-\d\d-\d\dT\d{6}Z\.db$/);
      expect(await computer.ask(`stat -c "%a %U" ${folder}`)).toBe(`700 ${PROGRAM}`);
      expect(await computer.ask(`stat -c "%a %U" /var/lib/${PROGRAM}/last-backup`)).toBe(`644 ${PROGRAM}`);
    });

    test("kill -9 → restarted by systemd on the same data", async () => {
      const key = await computer.ask(`cat /var/lib/${PROGRAM}/bootstrap-key`);
      const processId = await show("MainPID");
      await computer.run(`kill -9 ${processId}`);
      await restartedAfter(processId);
      expect(await get("/readyz")).toBe("HTTP/1.1 200 OK");
      expect(await computer.ask(`cat /var/lib/${PROGRAM}/bootstrap-key`)).toBe(key);
    });

    test("event loop hangs → restarted by the watchdog", async () => {
      await computer.write(`/etc/systemd/system/${UNIT}.d/watchdog.conf`, "[Service]\nWatchdogSec=2\n");
      await computer.run(`systemctl daemon-reload; systemctl restart ${UNIT}`);
      const processId = await show("MainPID");
      await computer.run(`kill -STOP ${processId}`);
      await restartedAfter(processId);
      await wroteToJournal(computer, UNIT, /Watchdog timeout/);
      await computer.run(`rm /etc/systemd/system/${UNIT}.d/watchdog.conf; systemctl daemon-reload`);
    });

    test("invalid configuration → the start fails, the journal has the error", async () => {
      await computer.run(`sed -i 's/^listen:/listne:/' /etc/${PROGRAM}/config.yaml`);
      const { code } = await computer.run(`systemctl restart ${UNIT}`, { may_fail: true });
      expect(code).not.toBe(0);
      await wroteToJournal(computer, UNIT, /unknown key listne; did you mean listen\?/);
      await computer.run(`sed -i 's/^listne:/listen:/' /etc/${PROGRAM}/config.yaml; systemctl restart ${UNIT}`);
    });

    test("systemd-analyze → no warnings, exposure 2.0 at most", async () => {
      const { stdout, stderr } = await computer.run(
        `systemd-analyze verify --man=no ${UNIT} 2>&1 | grep -F ${UNIT} || true`,
      );
      expect(stdout + stderr).toBe("");
      const security = await computer.ask(`systemd-analyze security --no-pager ${UNIT} | tail -1`);
      expect(Number(/(\d+\.\d)/.exec(security)?.[1])).toBeLessThanOrEqual(2);
    });

    describe("without ExecStartPre, which takes as long as the start", () => {
      const dropIn = `/etc/systemd/system/${UNIT}.d/unchecked.conf`;
      beforeAll(async () => {
        await computer.write(dropIn, "[Service]\nExecStartPre=\n");
        await computer.run("systemctl daemon-reload");
      });
      afterAll(() => computer.run(`rm ${dropIn}; systemctl daemon-reload`));

      test.each([
        ["localhost:8080", ["localhost"]],
        ["0.0.0.0:8080", ["127.0.0.1", OWN_ADDRESS]],
        ['"[::]:8080"', ["127.0.0.1", "::1", OWN_ADDRESS]],
        ['"[::1]:8080"', ["::1"]],
        [`${OWN_ADDRESS}:8080`, [OWN_ADDRESS]],
        [`${HOSTNAME}:8080`, [HOSTNAME]],
      ])("listen: %s → answers at %j", async (listen, hosts) => {
        await configure(`listen: ${listen}`);
        await computer.run(`systemctl restart ${UNIT}`);
        for (const host of hosts) expect(await get("/readyz", host)).toBe("HTTP/1.1 200 OK");
      });
    });

    test.each([
      ["192.0.2.1:8080", /this computer does not have that address/],
      ["no-such-host.invalid:8080", /no such host|could not be resolved/],
    ])("listen: %s → the start fails, the journal has the reason", async (listen, why) => {
      await configure(`listen: ${listen}`);
      const { code } = await computer.run(`systemctl restart ${UNIT}`, { may_fail: true });
      expect(code).not.toBe(0);
      await wroteToJournal(computer, UNIT, why);
    });

    test("port 443 with a private authority, following the service's page → works, also after renewal", async () => {
      const makeAuthority = await pageBlock(
        "src/service/README.md: openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650",
      );
      const makeCertificate = await pageBlock(
        "src/service/README.md: openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=policy.example.com' -keyout key.pem -out request.pem",
      );
      const install = rootScript(
        await pageBlock("src/service/README.md: sudo groupadd --system --force robot-policy-tls"),
      );
      const configuration = await pageBlock("src/service/PRODUCTION.md: # /etc/robot-policy-service/config.yaml");
      const folder = `/etc/${PROGRAM}/tls-recipe`;
      await site.run([
        "sh",
        "-ec",
        `mkdir -p ${computer.disk(folder)}; cd ${computer.disk(folder)}; ${makeAuthority.text}`,
      ]);
      const sign = `cd ${computer.disk(folder)}; ${makeCertificate.text.replace("192.0.2.10", OWN_ADDRESS)}`;
      await site.run(["sh", "-ec", sign]);
      await computer.run(`cd ${folder}; ${install}`);
      const tls = `/etc/${PROGRAM}/tls`;
      await computer.run(`cd /etc/${PROGRAM}; cp models.example.yaml models.yaml`);
      await computer.write(`/etc/${PROGRAM}/config.yaml`, configuration.text);
      await computer.run(`chgrp root ${tls}/key.pem`);
      expect((await computer.run(`systemctl restart ${UNIT}`, { may_fail: true })).code).not.toBe(0);
      await wroteToJournal(computer, UNIT, /the TLS key file cannot be read \(EACCES\)/);
      await wroteToJournal(computer, UNIT, /SupplementaryGroups=/);
      await computer.run(`chgrp robot-policy-tls ${tls}/key.pem; systemctl restart ${UNIT}`);
      const argv = [
        "robots",
        "list",
        "--url",
        `https://${OWN_ADDRESS}`,
        "--ca-file",
        computer.disk(`${folder}/ca.pem`),
      ];
      const keyFile = computer.disk(`/var/lib/${PROGRAM}/bootstrap-key`);
      const listed = await site.run([process.execPath, OPERATOR_PROGRAM, ...argv, "--key-file", keyFile]);
      expect(listed.stdout + listed.stderr).toContain("No robot is registered yet");

      const processId = await show("MainPID");
      const before = await servedCertificate();
      await site.run(["sh", "-ec", sign]);
      await computer.run(`cd ${folder}; ${install.split("\n")[2]}; systemctl reload ${UNIT}`);
      await eventually(
        async () => ((await servedCertificate()) === before ? undefined : true),
        "the renewed certificate",
      );
      expect(await show("MainPID")).toBe(processId);
    });

    /** The fingerprint of the certificate that is served. */
    async function servedCertificate(): Promise<string> {
      const script = `openssl s_client -connect ${OWN_ADDRESS}:443 </dev/null 2>/dev/null | openssl x509 -noout -fingerprint`;
      return (await site.run(["sh", "-c", script])).stdout;
    }

    test("upgrade and the way back, following the page → the newer program; then the older one on the backup", async () => {
      const upgrade = await pageBlock("src/service/README.md: sudo systemctl stop robot-policy-service");
      const back = await pageBlock(
        "src/service/README.md: sudo systemctl stop robot-policy-service && sudo mv /var/lib/robot-policy-service /var/lib/robot-policy-service.upgraded",
      );
      await configure("listen: 127.0.0.1:8080");
      const [deb, newer] = [await debianPackage(), await debianPackage(NEWER_VERSION)];
      const key = await computer.ask(`cat /var/lib/${PROGRAM}/bootstrap-key`);
      await computer.run(installing(newer.second.path, rootScript(upgrade)));
      expect(await computer.ask(`${PROGRAM} --version`)).toBe(NEWER_VERSION);
      expect(await get("/readyz")).toBe("HTTP/1.1 200 OK");
      const organizations = `${PROGRAM} orgs list --config /etc/${PROGRAM}/config.yaml`;
      await computer.run(`${PROGRAM} orgs create later --config /etc/${PROGRAM}/config.yaml`);
      expect(await computer.ask(organizations)).toContain("later");

      const backup = await computer.ask(`ls /var/lib/${PROGRAM}-backup/*.db | tail -1`);
      await computer.run(
        installing(deb.second.path, rootScript(back).replace(/\/var\/lib\/robot-policy-service-backup\/\S+/, backup)),
      );
      expect(await computer.ask(`${PROGRAM} --version`)).not.toBe(NEWER_VERSION);
      expect(await get("/readyz")).toBe("HTTP/1.1 200 OK");
      expect(await computer.ask(organizations)).not.toContain("later");
      expect(await computer.ask(`cat /var/lib/${PROGRAM}/bootstrap-key`)).toBe(key);
      expect(await computer.ask(`stat -c "%a %U" /var/lib/${PROGRAM} /var/lib/${PROGRAM}/service.db`)).toBe(
        `700 ${PROGRAM}\n600 ${PROGRAM}`,
      );
    });

    test("upgrade → runs again if it ran; what was stopped stays stopped", async () => {
      const processId = await show("MainPID");
      await computer.run(`dpkg --install ${(await debianPackage()).second.path}`);
      await restartedAfter(processId);
      expect(await show("UnitFileState")).toBe("enabled");
      await computer.run(`systemctl stop ${UNIT}; dpkg --install ${(await debianPackage()).second.path}`);
      expect(await show("ActiveState")).toBe("inactive");
      await computer.run(`systemctl start ${UNIT}`);
    });

    test("systemctl stop → ends within the drain time", async () => {
      await computer.run(`systemctl stop ${UNIT}`);
      expect(await show("Result")).toBe("success");
    });

    test("purge → the store stays, and the user with it; without them nothing is left", async () => {
      const { stderr } = await computer.run(`dpkg --purge ${SECOND_PACKAGE}`);
      expect(stderr).toContain(`/var/lib/${PROGRAM} stays`);
      expect(await computer.ask(`test -s /var/lib/${PROGRAM}/bootstrap-key; getent passwd ${PROGRAM}`)).toContain(
        PROGRAM,
      );
      await computer.run(`rm -r /etc/${PROGRAM} /var/lib/${PROGRAM} /var/lib/${PROGRAM}-backup`);
      await computer.run(`dpkg --install ${(await debianPackage()).second.path}; dpkg --purge ${SECOND_PACKAGE}`);
      const left = `getent passwd ${PROGRAM}; ls -d /etc/${PROGRAM} /var/lib/${PROGRAM} /usr/lib/${SECOND_PACKAGE} 2>/dev/null`;
      expect((await computer.run(left, { may_fail: true })).stdout).toBe("");
      expect(await computer.failedUnits()).toBe("");
    });
  },
);

test.skipIf(whySkipped !== "")(
  `programs and units copied, following the page, under systemd ${BOOKWORM.systemd}${whySkipped} → the service runs as its unit`,
  { timeout: LIMIT_MS },
  async () => {
    await using site = await openSite();
    await using computer = await createComputer(site, { layers: [await debianRoot(BOOKWORM)], hostname: HOSTNAME });
    const checkout = computer.disk("/root/checkout");
    const folders = ["config", "systemd"].map((name) => join(ROOT, name)).join(" ");
    // A checkout after the first line of the block, and a Node in place of the machine's own.
    await site.run([
      "sh",
      "-ec",
      `mkdir -p ${checkout}; cp -r ${dirname(SERVICE_PROGRAM)} ${checkout}/dist; cp -r ${folders} ${checkout}
      cp ${process.execPath} ${computer.disk("/usr/local/bin/node")}`,
    ]);
    await computer.boot();
    const block = await pageBlock("systemd/README.md: npm ci && npm run build");
    await computer.run(`cd /root/checkout\n${rootScript(block).replace(/^npm ci.*/, "")}`);
    expect(await computer.ask("robot-policy --version; robot-policy-service --version")).toMatch(/^(\S+)\n\1$/);
    await computer.run(
      `cd /etc/${PROGRAM}; cp config.example.yaml config.yaml; systemctl start ${UNIT}; systemctl start ${PROGRAM}-backup`,
    );
    expect(await computer.ask(`ls /var/lib/${PROGRAM}-backup`)).toMatch(/\.db$/);
  },
);

/** The script with the package on the disk, by dpkg: the computer has no repository. */
function installing(path: string, script: string): string {
  return script.replace(/apt install .*\.deb/, `dpkg --install ${path}`);
}
