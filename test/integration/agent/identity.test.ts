/** Who the robot is: copied images, names that change, and two agents that want to be the same robot. */
import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";

import { canMount, inShell, withOwnMounts } from "../../support/programs.ts";
import type { Robot } from "../../support/robot.ts";
import { replaceIn, setupBodies } from "../../support/robot.ts";
import { createScene, expectOneRobot, storedRobots } from "../../support/scene.ts";

/** Long enough for a wrong request to show. */
const QUIET_MS = 1000;
const NEEDS_MOUNT = "needs root and unshare(1)";

/** Words that start a program on another machine: the same disk with another /etc/machine-id. */
async function onMachine(robot: Robot, machine_id: string): Promise<string[]> {
  const path = robot.path(`machine-id-${machine_id.slice(0, 4)}`);
  await writeFile(path, `${machine_id}\n`);
  return inShell(withOwnMounts, `mount --bind "${path}" /etc/machine-id`);
}

const ORIGINAL = "0123456789abcdef0123456789abcdef";
const COPY = "fedcba9876543210fedcba9876543210";

test(
  `scenario 12: an image copied before its setup gives two robots, by {machine_id} (${NEEDS_MOUNT})`,
  { concurrent: true, skip: !canMount },
  async () => {
    await using scene = await createScene({ name: "'arm-{machine_id}'" });
    const { robot, service } = scene;
    const first = await robot.run(
      ["--setup", "--json", "--state-dir", robot.path("one")],
      {},
      await onMachine(robot, ORIGINAL),
    );
    const second = await robot.run(
      ["--setup", "--json", "--state-dir", robot.path("two")],
      {},
      await onMachine(robot, COPY),
    );
    expect([first.code, second.code]).toEqual([0, 0]);
    const names = storedRobots(service).map(({ name }) => name);
    expect(new Set(names).size).toBe(2);
    for (const name of names) {
      expect(name).toMatch(/^arm-[0-9a-f]{12}$/);
      // machine-id(5) asks programs to keep the id to themselves.
      expect(ORIGINAL).not.toContain(name.slice(4));
      expect(COPY).not.toContain(name.slice(4));
    }
  },
);

test(
  `scenario 13, 14: an image copied after its setup: no request, exit 7, and rebind makes it a robot of its own (${NEEDS_MOUNT})`,
  { concurrent: true, skip: !canMount },
  async () => {
    await using scene = await createScene();
    const { proxy, robot } = scene;
    const original = await onMachine(robot, ORIGINAL);
    const copy = await onMachine(robot, COPY);
    expect((await robot.run(["--setup"], {}, original)).code).toBe(0);
    expect(proxy.requests).toHaveLength(1);

    {
      // Whatever else is different on it: a copy is not asked for more.
      await replaceIn(robot.path("left.yaml"), "offset: 1", "offset: 7");
      await using daemon = await robot.start({}, copy);
      const { healthy, summary } = await daemon.until(({ state }) => state === "other-machine");
      expect(healthy).toBe(false);
      expect(summary).toContain("robot-policy-agent rebind");
      for (const args of [["status"], ["--setup"], ["--setup", "--dry-run"]]) {
        const { code, stderr } = await robot.run(args, {}, copy);
        expect([args, code]).toEqual([args, 7]);
        expect(stderr).toContain(
          "[other-machine]\n  → to make this machine a robot of its own: robot-policy-agent rebind",
        );
      }
      daemon.child.kill("SIGHUP");
      await sleep(QUIET_MS);
      expect(proxy.requests).toHaveLength(1);
      expect((await robot.run(["rebind"], {}, copy)).code).toBe(1);
    }
    const alone = await robot.run(["--setup"], {}, copy);
    expect(alone.code).toBe(7);
    expect(proxy.requests).toHaveLength(1);

    expect((await robot.run(["rebind"], {}, copy)).code).toBe(0);
    await replaceIn(robot.config_path, "name: arm-7", "name: arm-8");
    await using daemon = await robot.start({}, copy);
    await daemon.until(({ state }) => state === "registered");
    expect(storedRobots(scene.service)).toEqual([
      { name: "arm-7", configuration_digest: setupBodies(proxy.requests)[0]?.configuration_digest },
      { name: "arm-8", configuration_digest: await robot.digest() },
    ]);
  },
);

test.concurrent("a new name is refused, not taken for a new robot: exit 7; set back, or bound anew on purpose", async () => {
  await using scene = await createScene();
  const { proxy, robot, service } = scene;
  {
    await using daemon = await robot.start();
    await expectOneRobot(scene, daemon);
    await replaceIn(robot.config_path, "name: arm-7", "name: arm-8");
    await daemon.until(({ state }) => state === "other-name");
    const status = await robot.run(["status"]);
    expect(status.code).toBe(7);
    expect(status.stderr).toMatch(
      /registered as arm-7, but its name is now arm-8.*\n {2}→ .*robot-policy-agent rebind/,
    );
    const setup = await robot.run(["--setup"]);
    expect(setup.code).toBe(7);

    await replaceIn(robot.config_path, "name: arm-8", "name: arm-7");
    await expectOneRobot(scene, daemon);
    expect(proxy.requests).toHaveLength(1);
  }
  await replaceIn(robot.config_path, "name: arm-7", "name: arm-8");
  const rebind = await robot.run(["rebind"]);
  expect(rebind.code).toBe(0);
  expect(rebind.stdout).toContain("arm-7");
  expect((await robot.run(["--setup"])).code).toBe(0);
  expect(storedRobots(service).map(({ name }) => name)).toEqual(["arm-7", "arm-8"]);
});

test.concurrent("scenario 15: a second daemon on the same state: exits 1, says so; the first is not disturbed", async () => {
  await using scene = await createScene();
  const { proxy, robot } = scene;
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  // With a place of its own for the control socket, too: the state is what counts.
  for (const args of [["run"], ["run", "--runtime-dir", robot.path("run2")]]) {
    const second = await robot.run(args);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain("another agent works on this state directory");
    expect(second.stderr).toContain(robot.state_directory);
    expect(second.stderr).toContain("→ see it with: robot-policy-agent status");
  }
  await replaceIn(robot.path("left.yaml"), "offset: 1", "offset: 2");
  await expectOneRobot(scene, daemon);
  expect(proxy.requests).toHaveLength(2);
});

test.concurrent("scenario 15: a dozen daemons started at once: one runs, the others exit", async () => {
  await using stack = new AsyncDisposableStack();
  const scene = stack.use(await createScene());
  const daemons = await Promise.all(Array.from({ length: 12 }, () => scene.robot.start()));
  for (const daemon of daemons) stack.use(daemon);
  const running = () => daemons.filter(({ child }) => child.exitCode === null);
  while (running().length > 1) await sleep(20);
  await sleep(QUIET_MS);
  const [winner, ...others] = running();
  expect(others).toEqual([]);
  if (winner !== undefined) await expectOneRobot(scene, winner);
  expect(scene.proxy.requests).toHaveLength(1);
});

test.concurrent("scenario 15: --setup beside the daemon goes through it", async () => {
  await using scene = await createScene();
  const { proxy, robot } = scene;
  await using daemon = await robot.start();
  const { daemon: before } = await expectOneRobot(scene, daemon);
  const setup = await robot.run(["--setup", "--json"]);
  expect(setup.code).toBe(0);
  expect(JSON.parse(setup.stdout)).toMatchObject({
    state: "registered",
    daemon: { process_id: daemon.process_id, registrations: (before?.registrations ?? 0) + 1 },
  });
  expect(proxy.requests).toHaveLength(2);
  expect((await robot.run(["--setup", "--if-changed"])).code).toBe(0);
  expect(proxy.requests).toHaveLength(2);
  await expectOneRobot(scene, daemon);
});
