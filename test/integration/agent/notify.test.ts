/**
 * sd_notify(3) messages, as a real NOTIFY_SOCKET receives them.
 *
 * @module-tag needs/program
 */
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
    ["refuses connections", (proxy) => proxy.refuse(), () => {}],
    [
      "accepts the request and never answers",
      (proxy) => proxy.inject({ kind: "hang" }),
      async (proxy, daemon) => {
        // The 30 s that a request may take are not over.
        expect((await daemon.status()).failure).toBeNull();
        await proxy.arrived(1);
        await proxy.refuse();
      },
    ],
  ];

  test.for(networks)(
    "scenario 1: the service %s → READY=1 without waiting for it",
    async ([, breakNetwork, afterReady]) => {
      await using scene = await createScene();
      const { proxy, robot, service } = scene;
      await breakNetwork(proxy);
      await using systemd = await openNotifySocket(robot.path("notify"));
      await using daemon = await robot.startProcess({ NOTIFY_SOCKET: systemd.path });
      await systemd.awaits("READY=1");
      expect(storedRobots(service)).toEqual([]);
      await afterReady(proxy, daemon);

      const unreachable = await systemd.awaits("STATUS=Service unreachable, retrying: ");
      // MAINPID must name the agent, not the systemd-notify(1) that sends the message.
      expect(unreachable.lines).toContain(`MAINPID=${daemon.process_id}`);
      await proxy.listen();
      await expectOneRobot(scene, daemon);
      await systemd.awaits("STATUS=Registered as arm-7");
      expect(systemd.received.filter(({ lines }) => lines.includes("READY=1"))).toHaveLength(1);
      expect(await daemon.stop()).toBe(0);
      await systemd.awaits("STOPPING=1");
    },
  );

  test("STATUS: a finding → its file:line:column; corrected → registered", async ({ scene, robot }) => {
    await using systemd = await openNotifySocket(robot.path("notify"));
    await using daemon = await robot.startProcess({ NOTIFY_SOCKET: systemd.path });
    await systemd.awaits("STATUS=Registered as arm-7");
    const countAtFault = systemd.received.length;
    await replaceIn(robot.manifestPath, "left.yaml", "lost.yaml");
    await systemd.awaits(`STATUS=Not registering: ${robot.manifestPath}:3:5: `, countAtFault);
    const countAtRepair = systemd.received.length;
    await replaceIn(robot.manifestPath, "lost.yaml", "left.yaml");
    await systemd.awaits("STATUS=Registered as arm-7", countAtRepair);
    await expectOneRobot(scene, daemon);
  });

  test("scenario 39: WATCHDOG=1: continues during an outage, stops while the process hangs", async ({ expect }) => {
    await using scene = await createScene();
    await using other = await createScene();
    const { proxy, robot } = scene;
    await proxy.refuse();
    await using systemd = await openNotifySocket(robot.path("notify"));
    await using otherSystemd = await openNotifySocket(other.robot.path("notify"));
    await using daemon = await robot.startProcess(
      { NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: "100000" },
      inOwnSession,
    );
    await daemon.until(({ state }) => state === "unreachable");
    await awaitPings(systemd, 3);

    daemon.child.kill("SIGSTOP");
    // Its systemd-notify(1) children may still have messages to send.
    await expect.poll(() => statesOfSession(daemon.process_id)).toSatisfy(areHaltedOrEnded);
    await using healthy = await other.robot.startProcess({ NOTIFY_SOCKET: otherSystemd.path, WATCHDOG_USEC: "100000" });
    await awaitPings(otherSystemd, 2);
    const before = systemd.received.length;
    await awaitPings(otherSystemd, 5);
    expect(systemd.received).toHaveLength(before);
    expect(await healthy.stop()).toBe(0);

    daemon.child.kill("SIGCONT");
    await awaitPings(systemd, 1);
    await proxy.listen();
    await expectOneRobot(scene, daemon);
  });

  test("invalid configuration → READY=1 and the watchdog; corrected → registers", async () => {
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

  test("stopped with an invalid configuration → exit 0", async ({ robot }) => {
    await replaceIn(robot.config_path, "region:", "regoin:");
    await using systemd = await openNotifySocket(robot.path("notify"));
    await using daemon = await robot.startProcess({ NOTIFY_SOCKET: systemd.path });
    await systemd.awaits("READY=1");
    expect(await daemon.stop()).toBe(0);
  });

  test("WATCHDOG_PID of another process → no WATCHDOG=1", async ({ scene, robot }) => {
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

test.concurrent("no NOTIFY_SOCKET → works without notifications", async ({ scene }) => {
  await using daemon = await scene.robot.start({ WATCHDOG_USEC: "100000" });
  await expectOneRobot(scene, daemon);
  expect(await daemon.stop()).toBe(0);
});

/** Command prefix: starts a program in its own session, by which `statesOfSession` finds its processes. It ends with the tests. */
const inOwnSession = ["setpriv", "--pdeathsig=KILL", "setsid"];

/** Resolves after `count` more WATCHDOG=1 messages. */
async function awaitPings(systemd: NotifySocket, count: number): Promise<void> {
  for (let pings = 0; pings < count; pings += 1) await systemd.awaits("WATCHDOG=1", systemd.received.length);
}

/** The state letter of each process of the session (proc_pid_stat(5)). */
async function statesOfSession(sessionId: number): Promise<readonly string[]> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(names.map((name) => readFile(`/proc/${name}/stat`, "utf8").catch(() => "")));
  // The program's name, in parentheses, may contain spaces and parentheses.
  const fields = lines.map((line) => line.slice(line.lastIndexOf(")") + 2).split(" "));
  return fields.filter(([, , , session]) => session === String(sessionId)).map(([state = ""]) => state);
}

function areHaltedOrEnded(states: readonly string[]): boolean {
  return states.includes("T") && states.every((state) => state === "T" || state === "Z");
}
