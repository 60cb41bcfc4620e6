/** What happens to a registered robot, under a systemd that acts on it. Each test has the same robot, as it was switched off once. */
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

/** For a script that stops and starts the agent several times. */
const RESTARTS_LIMIT_MS = 120_000;

describe.skipIf(whySkipped !== "")(
  `a registered robot under systemd ${BOOKWORM.systemd}${whySkipped}`,
  { timeout: LIMIT_MS },
  () => {
    let plant: RobotSite;
    /** Requests before the test. */
    let before = 0;

    beforeAll(async () => {
      plant = await sharedRobotSite(BOOKWORM);
    }, LIMIT_MS);

    afterEach(tellJournals);
    afterEach(() => plant.service.goOn());

    /** The robot, running. */
    async function boot(options: RobotOptions = {}): Promise<RobotComputer> {
      const robot = await plant.registered(options);
      await robot.boot();
      before = plant.service.requests.length;
      return robot;
    }

    const sent = () => plant.service.requests.length - before;
    const edit = (robot: RobotComputer, text = "offsets: [0.3]") => robot.run(`echo '${text}' >${ROBOT_FILES[0]}`);
    const isRegistered = ({ state }: { readonly state: string }) => state === "registered";

    /** Until then the service may have it, and the agent not know. */
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

    describe("that is well again after each", () => {
      /** One for all: a boot for each would be most of what they cost. */
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

      test("an edited file is registered again, once, with the digest that sha256sum says", async () => {
        const robot = await running();
        await edit(robot, "offsets: [0.5]");
        await expectOnDisk(robot);
        expect(sent()).toBe(1);
      });

      test("kill -9: systemd starts it again, and it sends nothing", async () => {
        const robot = await running();
        const processId = await robot.show("MainPID");
        await robot.run(`kill -9 ${processId}`);
        await robot.restartedAfter(processId);
        await robot.until(isRegistered);
        expect(sent()).toBe(0);
      });

      test("39: an event loop that hangs trips the watchdog; a service that hangs does not", async () => {
        const robot = await running();
        // As shipped; the test has no such time.
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
        for (let sign = 0; sign < times(1, 2); sign += 1) {
          const last = await robot.show("WatchdogTimestampMonotonic");
          await untilTrue(robot, `[ "$(systemctl show --value -p WatchdogTimestampMonotonic ${UNIT})" != ${last} ]`);
        }
        expect((await robot.status()).state).toBe("registering");
        plant.service.goOn();
        await expectOnDisk(robot);
        expect(await robot.show("MainPID")).toBe(processId);
      });

      test("38: stopped in the middle of a request: ends promptly, and the next start finishes the work", async ({
        annotate,
      }) => {
        const robot = await running();
        plant.service.hang();
        await edit(robot, "offsets: [0.8]");
        await robot.until(({ state }) => state === "registering");
        const stopAt = Date.now();
        await robot.run(`systemctl stop ${UNIT}`);
        await annotate(`stopped in ${Date.now() - stopAt} ms`);
        // By itself: a third into the half minute that the request may take, systemd would have killed it.
        expect(await robot.show("Result")).toBe("success");
        plant.service.goOn();
        await robot.run(`systemctl start ${UNIT}`);
        await expectOnDisk(robot);
      });

      test("37: SIGHUP before it is ready does not end it", async () => {
        const robot = await running();
        // Before Node has come up nothing can stand against a signal; systemctl reload sends none, it asks the agent. Held where it
        // is, it cannot become ready between the look and the signal; where it was ready already, it is started again.
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

      test("3: a clock at 1970 is told as such, and gets over it when the time comes", async () => {
        const robot = await running();
        // Beside the system's, a file says the time to this process alone (libfaketime); it is read at each look at the clock.
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

      test("30: systemctl reload fails on a bad edit, the last good configuration stays, and a good edit counts", async () => {
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

      test("a start with a bad configuration waits for a good one, and says what is wrong, where", async () => {
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

      test("7, 18: a wrong key is told and waits; the right one counts at once, without a restart", async () => {
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

      test("15: beside the daemon, --setup has it register, and a second daemon does not start", async () => {
        const robot = await running();
        const { stdout, code } = await robot.agent("--setup");
        expect(stdout).toContain("Registered arm-7");
        expect(code).toBe(0);
        await expect.poll(sent).toBe(1);
        const second = await robot.agent("run");
        expect(second.stderr).toContain("another agent uses this state directory");
        expect(second.code).toBe(1);
      });

      test("40: a program that always crashes is started again and again, and works once it is mended", async () => {
        const robot = await running();
        await robot.run(
          `cd /usr/lib/${PACKAGE}; mv lib/${PACKAGE}.cjs lib/kept; echo 'throw new Error("torn")' >lib/${PACKAGE}.cjs
          systemctl restart --no-block ${UNIT}`,
        );
        // One more than systemd allows a unit that says nothing of it (DefaultStartLimitBurst=).
        await untilTrue(robot, `[ "$(systemctl show --value -p NRestarts ${UNIT})" -ge 6 ]`);
        expect(["activating", "deactivating"]).toContain(await robot.show("ActiveState"));
        await robot.run(`cd /usr/lib/${PACKAGE}; mv lib/kept lib/${PACKAGE}.cjs`);
        await robot.until(isRegistered);
        expect(sent()).toBe(0);
      });
    });

    test("1: no network at boot: ready at once, and registered by the first attempt after the cable is in", async ({
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
      // One more may have been under way as the cable was put in.
      const attempts = (await robot.status()).daemon?.attempts ?? Infinity;
      expect(attempts - (daemon?.attempts ?? 0)).toBeLessThanOrEqual(2);
    });

    test("35: a full disk: registers and says that it could not write it down; no second robot after the next boot", async () => {
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

    test("35: a read-only disk: starts, watches and registers all the same", async () => {
      await using robot = await plant.registered();
      await robot.boot({ disk: "read-only" });
      await robot.until(isRegistered);
      // From outside, as on a disk that is writable for somebody else.
      await plant.site.run(["sh", "-ec", `echo 'offsets: [1.1]' >${robot.disk(ROBOT_FILES[0] ?? "")}`]);
      await expectOnDisk(robot);
      expect((await robot.status()).state_problem).toContain("EROFS");
    });

    test("12, 13: a copied image is recognized before any request, and rebind makes it a robot of its own", async () => {
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

    test("34: the power is cut in the middle of a registration: the service ends up with what is on the disk", async () => {
      await using robot = await boot({ disk: "journaled" });
      const received = (earlier: number) =>
        eventually(async () => sent() > earlier || undefined, "the registration to reach the service");
      const noticed = (earlier: number) =>
        eventually(
          async () => (await robot.status()).state !== "registered" || sent() > earlier || undefined,
          "the agent to notice the edit",
        );
      // And at any moment of settling, hashing, sending or writing.
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
  },
);
