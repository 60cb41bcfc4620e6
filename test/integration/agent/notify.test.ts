/** What systemd is told, as it arrives at a real NOTIFY_SOCKET. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";

import type { FaultProxy } from "../../support/fault-proxy.ts";
import { canListenToNotify } from "../../support/programs.ts";
import type { Daemon } from "../../support/daemon.ts";
import { eventually, replaceIn } from "../../support/robot.ts";
import { createScene, expectOneRobot, storedRobots } from "../../support/scene.ts";
import { openNotifySocket } from "../../support/systemd.ts";

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

  test("STATUS says in plain words what is wrong, and where", async () => {
    await using scene = await createScene();
    const { robot } = scene;
    await using systemd = await openNotifySocket(robot.path("notify"));
    await using daemon = await robot.startProcess({ NOTIFY_SOCKET: systemd.path });
    await systemd.awaits("STATUS=Registered as arm-7");
    const since = systemd.received.length;
    await replaceIn(robot.manifest_path, "left.yaml", "lost.yaml");
    await systemd.awaits(`STATUS=Not registering: ${robot.manifest_path}:3:5: `, since);
    const later = systemd.received.length;
    await replaceIn(robot.manifest_path, "lost.yaml", "left.yaml");
    await systemd.awaits("STATUS=Registered as arm-7", later);
    await expectOneRobot(scene, daemon);
  });

  test("scenario 39: WATCHDOG=1 comes at half the time, through an outage too, and stops when the process hangs", async () => {
    await using scene = await createScene();
    const { proxy, robot } = scene;
    await proxy.refuse();
    await using systemd = await openNotifySocket(robot.path("notify"));
    // Long enough that what a busy machine adds to each is little beside it.
    await using daemon = await robot.startProcess({ NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: "2000000" });
    await daemon.until(({ daemon: counts }) => (counts?.attempts ?? 0) >= 3);
    const pings = () => systemd.received.filter(({ lines }) => lines.includes("WATCHDOG=1")).map(({ at_ms }) => at_ms);
    await eventually(async () => pings().length > 3 || undefined, "four pings");
    const gaps = pings().flatMap((at_ms, index, all) => (index === 0 ? [] : [at_ms - (all[index - 1] ?? at_ms)]));
    expect(gaps.length).toBeGreaterThan(2);
    expect(gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)]).toBeGreaterThan(700);
    expect(gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)]).toBeLessThan(1500);

    daemon.child.kill("SIGSTOP");
    // A ping that was on its way may still arrive.
    await sleep(300);
    const before = pings().length;
    await sleep(2500);
    expect(pings()).toHaveLength(before);

    daemon.child.kill("SIGCONT");
    await systemd.awaits("WATCHDOG=1", systemd.received.length);
    await proxy.listen();
    await expectOneRobot(scene, daemon);
  });

  test("with an invalid configuration it is ready, says so once, and goes to work when the file is mended", async () => {
    await using scene = await createScene();
    const { robot, service } = scene;
    await replaceIn(robot.config_path, "region:", "regoin:");
    await using systemd = await openNotifySocket(robot.path("notify"));
    await using daemon = await robot.startProcess({ NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: "600000" });
    await systemd.awaits("READY=1");
    await systemd.awaits("STATUS=Configuration is invalid; robot-policy-agent check says why: ");
    for (let pings = 0; pings < 3; pings += 1) await systemd.awaits("WATCHDOG=1", systemd.received.length);
    expect(daemon.output().split("regoin").length - 1).toBe(2);
    expect(storedRobots(service)).toEqual([]);

    await replaceIn(robot.config_path, "regoin:", "region:");
    await systemd.awaits("STATUS=Registered as arm-7");
    await expectOneRobot(scene, daemon);
    expect(await daemon.stop()).toBe(0);
  });

  test("stopped while it waits for a configuration, it ends at once", async () => {
    await using scene = await createScene();
    const { robot } = scene;
    await replaceIn(robot.config_path, "region:", "regoin:");
    await using systemd = await openNotifySocket(robot.path("notify"));
    await using daemon = await robot.startProcess({ NOTIFY_SOCKET: systemd.path });
    await systemd.awaits("READY=1");
    expect(await daemon.stop()).toBe(0);
  });

  test("a watchdog meant for another process is not fed", async () => {
    await using scene = await createScene();
    const { robot } = scene;
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

test.concurrent("without NOTIFY_SOCKET all of it is left out", async () => {
  await using scene = await createScene();
  await using daemon = await scene.robot.start({ WATCHDOG_USEC: "100000" });
  await expectOneRobot(scene, daemon);
  expect(await daemon.stop()).toBe(0);
});
