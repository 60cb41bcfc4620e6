/** What systemd is told, as it arrives at a real NOTIFY_SOCKET. */
import { readFile, readdir } from "node:fs/promises";

import { describe, expect } from "vitest";

import { canListenToNotify } from "../../support/programs/programs.ts";
import type { Daemon } from "../../support/robot/daemon.ts";
import { replaceIn } from "../../support/robot/robot.ts";
import { type NotifySocket, openNotifySocket } from "../../support/robot/systemd.ts";
import type { FaultProxy } from "../../support/service/fault-proxy.ts";
import { test } from "../../support/service/scene-test.ts";
import { createScene, expectOneRobot, storedRobots } from "../../support/service/scene.ts";

describe("sd_notify (needs python3 and systemd-notify)", { concurrent: true, skip: !canListenToNotify }, () => {
  type Act = (proxy: FaultProxy, daemon: Daemon) => Promise<void> | void;
  const networks: readonly [string, (proxy: FaultProxy) => Promise<void> | void, Act][] = [
    ["is not there", (proxy) => proxy.refuse(), () => {}],
    [
      "accepts the request and never answers",
      (proxy) => proxy.inject({ kind: "hang" }),
      async (proxy, daemon) => {
        // The half minute that a request may take is far from over.
        expect((await daemon.status()).failure).toBeNull();
        await proxy.arrived(1);
        await proxy.refuse();
      },
    ],
  ];

  test.for(networks)(
    "scenario 1: READY=1 does not wait for a service that %s",
    async ([, breakNetwork, afterReady]) => {
      await using scene = await createScene();
      const { proxy, robot, service } = scene;
      await breakNetwork(proxy);
      await using systemd = await openNotifySocket(robot.path("notify"));
      await using daemon = await robot.startProcess({ NOTIFY_SOCKET: systemd.path });
      await systemd.awaits("READY=1");
      expect(storedRobots(service)).toEqual([]);
      await afterReady(proxy, daemon);

      const troubled = await systemd.awaits("STATUS=Service unreachable, retrying: ");
      // systemd takes its word for who the main process is: it must not be systemd-notify(1).
      expect(troubled.lines).toContain(`MAINPID=${daemon.process_id}`);
      await proxy.listen();
      await expectOneRobot(scene, daemon);
      await systemd.awaits("STATUS=Registered as arm-7");
      expect(systemd.received.filter(({ lines }) => lines.includes("READY=1"))).toHaveLength(1);
      expect(await daemon.stop()).toBe(0);
      await systemd.awaits("STOPPING=1");
    },
  );

  test("STATUS says in plain words what is wrong, and where", async ({ scene, robot }) => {
    await using systemd = await openNotifySocket(robot.path("notify"));
    await using daemon = await robot.startProcess({ NOTIFY_SOCKET: systemd.path });
    await systemd.awaits("STATUS=Registered as arm-7");
    const since = systemd.received.length;
    await replaceIn(robot.manifestPath, "left.yaml", "lost.yaml");
    await systemd.awaits(`STATUS=Not registering: ${robot.manifestPath}:3:5: `, since);
    const later = systemd.received.length;
    await replaceIn(robot.manifestPath, "lost.yaml", "left.yaml");
    await systemd.awaits("STATUS=Registered as arm-7", later);
    await expectOneRobot(scene, daemon);
  });

  test("scenario 39: WATCHDOG=1 comes again and again, through an outage too, and stops when the process hangs", async ({
    expect,
  }) => {
    await using scene = await createScene();
    await using other = await createScene();
    const { proxy, robot } = scene;
    await proxy.refuse();
    await using systemd = await openNotifySocket(robot.path("notify"));
    await using elsewhere = await openNotifySocket(other.robot.path("notify"));
    await using daemon = await robot.startProcess({ NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: "100000" }, apart);
    await daemon.until(({ state }) => state === "unreachable");
    await awaitPings(systemd, 3);

    daemon.child.kill("SIGSTOP");
    // It started programs that may still be about to tell of it.
    await expect.poll(() => statesOfSession(daemon.process_id)).toSatisfy(areHaltedOrEnded);
    await using healthy = await other.robot.startProcess({ NOTIFY_SOCKET: elsewhere.path, WATCHDOG_USEC: "100000" });
    await awaitPings(elsewhere, 2);
    const before = systemd.received.length;
    await awaitPings(elsewhere, 5);
    expect(systemd.received).toHaveLength(before);
    expect(await healthy.stop()).toBe(0);

    daemon.child.kill("SIGCONT");
    await awaitPings(systemd, 1);
    await proxy.listen();
    await expectOneRobot(scene, daemon);
  });

  test("with an invalid configuration it is ready, and works once that is corrected", async () => {
    await using scene = await createScene();
    const { robot, service } = scene;
    await replaceIn(robot.config_path, "region:", "regoin:");
    await using systemd = await openNotifySocket(robot.path("notify"));
    await using daemon = await robot.startProcess({ NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: "100000" });
    await systemd.awaits("READY=1");
    await systemd.awaits("STATUS=Configuration is invalid; robot-policy-agent check says why: ");
    await awaitPings(systemd, 3);
    expect(daemon.output().split("regoin").length - 1).toBe(2);
    expect(storedRobots(service)).toEqual([]);

    await replaceIn(robot.config_path, "regoin:", "region:");
    await systemd.awaits("STATUS=Registered as arm-7");
    await expectOneRobot(scene, daemon);
    expect(await daemon.stop()).toBe(0);
  });

  test("stopped while it waits for a configuration, it ends at once", async ({ robot }) => {
    await replaceIn(robot.config_path, "region:", "regoin:");
    await using systemd = await openNotifySocket(robot.path("notify"));
    await using daemon = await robot.startProcess({ NOTIFY_SOCKET: systemd.path });
    await systemd.awaits("READY=1");
    expect(await daemon.stop()).toBe(0);
  });

  test("a watchdog meant for another process is not fed", async ({ scene, robot }) => {
    await using systemd = await openNotifySocket(robot.path("notify"));
    await using daemon = await robot.startProcess({
      NOTIFY_SOCKET: systemd.path,
      WATCHDOG_USEC: "100000",
      WATCHDOG_PID: "1",
    });
    await systemd.awaits("STATUS=Registered as arm-7");
    await expectOneRobot(scene, daemon);
    expect(systemd.received.filter(({ lines }) => lines.includes("WATCHDOG=1"))).toEqual([]);
  });
});

test.concurrent("without NOTIFY_SOCKET all of it is left out", async ({ scene }) => {
  await using daemon = await scene.robot.start({ WATCHDOG_USEC: "100000" });
  await expectOneRobot(scene, daemon);
  expect(await daemon.stop()).toBe(0);
});

/** Words that give a program a session of its own: who stops and continues the tests (scripts/flake) leaves it alone. It ends with them. */
const apart = ["setpriv", "--pdeathsig=KILL", "setsid"];

/** Resolves once so many more have come. */
async function awaitPings(systemd: NotifySocket, count: number): Promise<void> {
  for (let pings = 0; pings < count; pings += 1) await systemd.awaits("WATCHDOG=1", systemd.received.length);
}

/** Of each process of the session, one letter (proc_pid_stat(5)). */
async function statesOfSession(sessionId: number): Promise<readonly string[]> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(names.map((name) => readFile(`/proc/${name}/stat`, "utf8").catch(() => "")));
  // The name of the program may hold anything.
  const fields = lines.map((line) => line.slice(line.lastIndexOf(")") + 2).split(" "));
  return fields.filter(([, , , session]) => session === String(sessionId)).map(([state = ""]) => state);
}

function areHaltedOrEnded(states: readonly string[]): boolean {
  return states.includes("T") && states.every((state) => state === "T" || state === "Z");
}
