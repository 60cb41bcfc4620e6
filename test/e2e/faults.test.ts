/**
 * Faults of a registered robot under a real systemd. Each test starts from the same image of a registered robot.
 *
 * @module-tag needs/machine
 */
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { tellJournals } from "../support/nspawn/journal.ts";
import { PACKAGE } from "../support/nspawn/package.ts";
import {
  CONFIGURATION_FILE,
  putKey,
  ROBOT_FILES,
  type RobotComputer,
  STATE_FILE,
  UNIT,
  untilTrue,
} from "../support/nspawn/robot.ts";
import { BOOKWORM, LIMIT_MS } from "../support/nspawn/root.ts";
import { whySkipped } from "../support/nspawn/site.ts";
import { type RobotOptions, type RobotSite, sharedRobotSite } from "../support/robot/robot-site.ts";
import { eventually, SETTLE_MS } from "../support/robot/robot.ts";
import { isLong, times } from "../support/run/tier.ts";

/** Time limit of a script that restarts the agent several times. */
const RESTARTS_LIMIT_MS = 120_000;

describe.skipIf(whySkipped !== "")(
  `registered robot under systemd ${BOOKWORM.systemd}${whySkipped}`,
  { timeout: LIMIT_MS },
  () => {
    let plant: RobotSite;
    /** Number of requests before the test. */
    let before = 0;

    beforeAll(async () => {
      plant = await sharedRobotSite(BOOKWORM);
    }, LIMIT_MS);

    afterEach(tellJournals);
    afterEach(() => plant.service.goOn());

    /** Boots the robot. */
    async function boot(options: RobotOptions = {}): Promise<RobotComputer> {
      const robot = await plant.registered(options);
      await robot.boot();
      before = plant.service.requests.length;
      return robot;
    }

    const sent = () => plant.service.requests.length - before;
    const edit = (robot: RobotComputer, text = "offsets: [0.3]") => robot.run(`echo '${text}' >${ROBOT_FILES[0]}`);
    const isRegistered = ({ state }: { readonly state: string }) => state === "registered";

    /** Waits until the agent is registered with the digest of its files: the service may have it earlier. Then checks the service. */
    async function expectOnDisk(robot: RobotComputer): Promise<void> {
      const digest = await robot.digest();
      await robot.until(
        ({ state, registration }) => state === "registered" && registration?.configuration_digest === digest,
      );
      expect(await plant.service.robots()).toContainEqual({ name: "arm-7", configuration_digest: digest });
    }

    async function dropIn(robot: RobotComputer, text: string): Promise<void> {
      await robot.write(`/etc/systemd/system/${UNIT}.d/test.conf`, text);
      await robot.run(`systemctl daemon-reload; systemctl restart ${UNIT}`);
    }

    describe("that recovers after each test", () => {
      /** Shared, because booting one per test would take most of the time. */
      let robot: RobotComputer | null = null;

      async function running(): Promise<RobotComputer> {
        robot ??= await boot();
        await plant.service.allLogged();
        before = plant.service.requests.length;
        return robot;
      }

      const discard = async () => {
        await robot?.[Symbol.asyncDispose]();
        robot = null;
      };
      afterEach(async ({ task }) => {
        if (task.result?.state === "fail") return discard();
        plant.service.goOn();
        await robot?.run(
          `if rm -r /etc/systemd/system/${UNIT}.d; then systemctl daemon-reload; systemctl restart ${UNIT}; fi`,
        );
        await robot?.until(isRegistered);
      });
      afterAll(discard);

      test("file edited → registered again once, with the digest of sha256sum", async () => {
        const robot = await running();
        await edit(robot, "offsets: [0.5]");
        await expectOnDisk(robot);
        await plant.service.allLogged();
        expect(sent()).toBe(1);
      });

      test("kill -9 → restarted by systemd, no request", async () => {
        const robot = await running();
        const processId = await robot.show("MainPID");
        await robot.run(`kill -9 ${processId}`);
        await robot.restartedAfter(processId);
        await robot.until(isRegistered);
        expect(sent()).toBe(0);
      });

      test("39: event loop hangs → restarted by the watchdog; service hangs → not restarted", async () => {
        const robot = await running();
        // The shipped value, which is too long for a test.
        expect(await robot.show("WatchdogUSec")).toBe("1min");
        await dropIn(robot, "[Service]\nWatchdogSec=5\n");
        const hung = await robot.ask(
          `process=$(systemctl show --value -p MainPID ${UNIT}); kill -STOP $process; echo $process`,
        );
        await robot.restartedAfter(hung);
        await robot.wroteToJournal(/Watchdog timeout/);

        const processId = await robot.show("MainPID");
        plant.service.hang();
        await edit(robot, "offsets: [0.7]");
        await robot.until(({ state }) => state === "registering");
        for (let notification = 0; notification < times(1, 2); notification += 1) {
          const last = await robot.show("WatchdogTimestampMonotonic");
          await untilTrue(robot, `[ "$(systemctl show --value -p WatchdogTimestampMonotonic ${UNIT})" != ${last} ]`);
        }
        expect((await robot.status()).state).toBe("registering");
        plant.service.goOn();
        await expectOnDisk(robot);
        expect(await robot.show("MainPID")).toBe(processId);
      });

      test("38: stopped during a request → ends promptly, and the next start completes the registration", async ({
        annotate,
      }) => {
        const robot = await running();
        plant.service.hang();
        await edit(robot, "offsets: [0.8]");
        await robot.until(({ state }) => state === "registering");
        const stopAt = Date.now();
        await robot.run(`systemctl stop ${UNIT}`);
        await annotate(`stopped in ${Date.now() - stopAt} ms`);
        // Not killed: systemd kills it after a third of the 30 s that the request may take.
        expect(await robot.show("Result")).toBe("success");
        plant.service.goOn();
        await robot.run(`systemctl start ${UNIT}`);
        await expectOnDisk(robot);
      });

      test("start with an invalid configuration → waits for a valid one, and logs the error with its position", async () => {
        const robot = await running();
        await robot.run(`cp ${CONFIGURATION_FILE} /root/good; sed -i 's/^robot:/robots:/' ${CONFIGURATION_FILE}
          systemctl restart ${UNIT}`);
        expect(await robot.show("ActiveState")).toBe("active");
        await robot.wroteToJournal(/config\.yaml:\d+:1: error unknown_key: unknown key robots/);
        await robot.run(`cp /root/good ${CONFIGURATION_FILE}`);
        await robot.until(isRegistered);
        expect(await robot.show("NRestarts")).toBe("0");
        expect(sent()).toBe(0);
      });

      test("40: program always crashes → restarted until it is fixed", async () => {
        const robot = await running();
        await robot.run(
          `cd /usr/lib/${PACKAGE}; mv lib/${PACKAGE}.cjs lib/kept; echo 'throw new Error("torn")' >lib/${PACKAGE}.cjs
          systemctl restart --no-block ${UNIT}`,
        );
        // One more than systemd's default limit (DefaultStartLimitBurst=).
        await untilTrue(robot, `[ "$(systemctl show --value -p NRestarts ${UNIT})" -ge 6 ]`);
        expect(["activating", "deactivating"]).toContain(await robot.show("ActiveState"));
        await robot.run(`cd /usr/lib/${PACKAGE}; mv lib/kept lib/${PACKAGE}.cjs`);
        await robot.until(isRegistered);
        expect(sent()).toBe(0);
      });

      describe("at night, because the integration tests show it too", { tags: "needs/night" }, () => {
        test("37: SIGHUP before it is ready → continues", async () => {
          const robot = await running();
          // Before Node has started, SIGHUP ends any process; systemctl reload sends no signal but asks the agent. SIGSTOP keeps the agent
          // from becoming ready between the check and the signal; if it was ready already, it is restarted.
          const script = `while :; do
            systemctl stop ${UNIT}; systemctl start --no-block ${UNIT}
            until process=$(systemctl show --value -p MainPID ${UNIT}) && grep -q '^SigCgt:.*[13579bdf]$' /proc/$process/status 2>/dev/null; do :; done
            kill -STOP $process; state=$(systemctl show --value -p ActiveState ${UNIT})
            kill -HUP $process; kill -CONT $process
            if [ $state = activating ]; then break; fi
          done; echo $state`;
          expect(await robot.ask(script, { limitMs: RESTARTS_LIMIT_MS })).toBe("activating");
          await robot.until(isRegistered);
          expect(await robot.show("NRestarts")).toBe("0");
        });

        test("3: clock at 1970 → failure clock; clock set → registered", async () => {
          const robot = await running();
          // With libfaketime, a file sets the time of this process only. It is read on each use of the clock.
          const library = await robot.ask("ls /usr/lib/*/faketime/libfaketime.so.1");
          await robot.write("/etc/faketimerc", "@1970-01-01 00:10:00\n");
          await dropIn(
            robot,
            `[Service]\nEnvironment=LD_PRELOAD=${library} FAKETIME_NO_CACHE=1 DONT_FAKE_MONOTONIC=1 FAKETIME_DONT_RESET=1\n`,
          );
          await edit(robot, "offsets: [0.9]");
          const { failure } = await robot.until((status) => status.failure !== null);
          expect(failure?.reason).toBe("clock");
          expect(sent()).toBe(0);
          await robot.write("/etc/faketimerc", "+0\n");
          await expectOnDisk(robot);
        });

        test("30: invalid edit → systemctl reload fails, the last valid configuration stays; valid edit → applied", async () => {
          const robot = await running();
          await robot.run(`cp ${CONFIGURATION_FILE} /root/good; sed -i 's/^robot:/robott:/' ${CONFIGURATION_FILE}`);
          const { code } = await robot.run(`systemctl reload ${UNIT}`, { may_fail: true });
          expect(code).not.toBe(0);
          const status = await robot.status();
          expect(status).toMatchObject({ state: "registered", healthy: false });
          expect(status.findings.map(({ id }) => id).toSorted()).toEqual(["missing", "unknown_key"]);
          expect(await robot.show("ActiveState")).toBe("active");
          await edit(robot, "offsets: [1.2]");
          await expectOnDisk(robot);
          await robot.run(
            `sed 's|region: .*|region: eu-central-2|' /root/good >${CONFIGURATION_FILE}; systemctl reload ${UNIT}`,
          );
          const mended = await robot.until(({ robot: { view } }) => view?.region === "eu-central-2");
          expect(mended.findings).toEqual([]);
        });

        test("7, 18: wrong key → unauthorized; right key → registered at once, without a restart", async () => {
          const robot = await running();
          const processId = await robot.show("MainPID");
          await putKey(
            robot,
            plant.service.key.replace(/.$/, (last) => (last === "x" ? "y" : "x")),
          );
          await edit(robot, "offsets: [1.3]");
          await robot.until(({ state }) => state === "unauthorized");
          expect((await robot.agent("--setup")).code).toBe(5);
          const { body } = await plant.service.send("POST", "/v1/me/api-keys", { label: "arm-7" });
          await putKey(robot, body["api_key"] as string);
          await expectOnDisk(robot);
          expect(await robot.show("MainPID")).toBe(processId);
        });

        test("15: --setup beside the daemon → the daemon registers; a second daemon → refused", async () => {
          const robot = await running();
          const { stdout, code } = await robot.agent("--setup");
          expect(stdout).toContain("Registered arm-7");
          expect(code).toBe(0);
          await expect.poll(sent).toBe(1);
          const second = await robot.agent("run");
          expect(second.stderr).toContain("another agent uses this state directory");
          expect(second.code).toBe(1);
        });
      });
    });

    test("12, 13: copied image → recognized before any request; rebind → a robot of its own", async () => {
      await using robot = await plant.registered({ hostname: "arm-8" });
      await robot.image.run("echo 0123456789abcdef0123456789abcdef >/etc/machine-id");
      await robot.boot();
      before = plant.service.requests.length;
      await robot.until(({ state }) => state === "other-machine");
      const { code, stderr } = await robot.agent("status");
      expect(code).toBe(7);
      expect(stderr).toContain("robot-policy-agent rebind");
      expect((await robot.agent("--setup")).code).toBe(7);
      expect(sent()).toBe(0);
      expect((await robot.agent("rebind")).stdout).toContain("Registered arm-8");
      await robot.until(isRegistered);
      const names = (await plant.service.robots()).map(({ name }) => name);
      expect(names).toEqual(expect.arrayContaining(["arm-7", "arm-8"]));
    });

    test("34: power cut during a registration → the service ends up with the digest of the disk", async () => {
      await using robot = await boot({ disk: "journaled" });
      const received = (earlier: number) =>
        eventually(async () => sent() > earlier || undefined, "the registration to reach the service");
      const noticed = (earlier: number) =>
        eventually(
          async () => (await robot.status()).state !== "registered" || sent() > earlier || undefined,
          "the agent to notice the edit",
        );
      // Also at various moments of settling, hashing, sending and writing.
      const others = isLong ? [SETTLE_MS, SETTLE_MS + 40, SETTLE_MS + 80, SETTLE_MS + 120] : [];
      const moments = [noticed, received, ...others.map((ms) => () => sleep(ms))];
      for (const [index, moment] of moments.entries()) {
        const earlier = sent();
        await robot.run(`echo 'offsets: [2.${index}]' >${ROBOT_FILES[0]}; sync`);
        await moment(earlier);
        await robot.cutPower();
        await robot.boot();
        await expectOnDisk(robot);
        expect(await robot.ask(`ls /var/lib/${PACKAGE}`)).toBe(basename(STATE_FILE));
      }
    });

    describe("at night, because the integration tests show it too", { tags: "needs/night" }, () => {
      test("1: no network at boot → ready at once, and registered by the first attempt after the cable is plugged in", async ({
        annotate,
      }) => {
        await using robot = await plant.registered();
        await robot.image.run(`echo 'offsets: [0.6]' >${ROBOT_FILES[0]}`);
        await robot.cable("pulled");
        await robot.boot();
        expect(await robot.show("ActiveState")).toBe("active");
        expect(await robot.failedUnits()).toBe("");
        const { failure } = await robot.until(({ state }) => state === "unreachable");
        const pluggedAt = Date.now();
        await robot.cable("plugged");
        const { daemon } = await robot.status();
        await expectOnDisk(robot);
        await annotate(
          `cable to registered: ${Date.now() - pluggedAt} ms; the next attempt was due at ${failure?.next_attempt_at}`,
        );
        // Another attempt may have been running when the cable was plugged in.
        const attempts = (await robot.status()).daemon?.attempts ?? Infinity;
        expect(attempts - (daemon?.attempts ?? 0)).toBeLessThanOrEqual(2);
      });

      test("35: disk full → registers and reports that it cannot save; after the next boot → the same robot", async () => {
        await using robot = await boot();
        await robot.run(`systemctl stop ${UNIT}
        mount -t tmpfs -o size=64k,mode=750,uid=$(id -u ${PACKAGE}),gid=$(id -g ${PACKAGE}) tmpfs /var/lib/${PACKAGE}
        cat /dev/zero >/var/lib/${PACKAGE}/ballast 2>/dev/null || true; systemctl start ${UNIT}`);
        const { state_problem: stateProblem } = await robot.until(
          (status) => status.state === "registered" && status.state_problem !== null,
        );
        expect(stateProblem).toContain("ENOSPC");
        await edit(robot, "offsets: [1.0]");
        await expectOnDisk(robot);
        await robot.shutdown();
        await robot.boot();
        await expectOnDisk(robot);
        expect((await robot.status()).state_problem).toBeNull();
      });

      test("35: read-only disk → starts, watches and registers", async () => {
        await using robot = await plant.registered();
        await robot.boot({ disk: "read-only" });
        await robot.until(isRegistered);
        // Written from outside, as by another computer that can write to the disk.
        await plant.site.run(["sh", "-ec", `echo 'offsets: [1.1]' >${robot.disk(ROBOT_FILES[0] ?? "")}`]);
        await expectOnDisk(robot);
        expect((await robot.status()).state_problem).toContain("EROFS");
      });
    });
  },
);
