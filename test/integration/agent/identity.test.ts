/** The robot's identity: copied images, changed names, and two agents for one robot. */
import { readFile, symlink, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

import { expect } from "vitest";

import { startCommand } from "../../support/programs/command.ts";
import { canMount, inShell, withOwnMounts } from "../../support/programs/programs.ts";
import { eventually, replaceIn, type Robot, setupBodies } from "../../support/robot/robot.ts";
import { times } from "../../support/run/tier.ts";
import { test } from "../../support/service/scene-test.ts";
import { createScene, expectOneRobot, savedRegistration, storedRobots } from "../../support/service/scene.ts";

const NEEDS_MOUNT = "needs root and unshare(1)";

/** Command prefix: runs a program as on another machine, with the same disk and another /etc/machine-id. */
async function onMachine(robot: Robot, machineId: string): Promise<string[]> {
  const path = robot.path(`machine-id-${machineId.slice(0, 4)}`);
  await writeFile(path, `${machineId}\n`);
  return inShell(withOwnMounts, `mount --bind "${path}" /etc/machine-id`);
}

const ORIGINAL = "0123456789abcdef0123456789abcdef";
const COPY = "fedcba9876543210fedcba9876543210";

test(
  `scenario 12: image copied before setup, name with {machine_id} → two robots (${NEEDS_MOUNT})`,
  { concurrent: true, tags: "needs/root", skip: !canMount },
  async () => {
    await using scene = await createScene({ name: "'arm-{machine_id}'" });
    const { robot, service } = scene;
    const first = await robot.runProcess(
      ["--setup", "--json", "--state-dir", robot.path("one")],
      {},
      await onMachine(robot, ORIGINAL),
    );
    const second = await robot.runProcess(
      ["--setup", "--json", "--state-dir", robot.path("two")],
      {},
      await onMachine(robot, COPY),
    );
    expect([first.code, second.code]).toEqual([0, 0]);
    const names = storedRobots(service).map(({ name }) => name);
    expect(new Set(names).size).toBe(2);
    for (const name of names) {
      expect(name).toMatch(/^arm-[0-9a-f]{12}$/);
      // machine-id(5): programs must not reveal the id.
      expect(ORIGINAL).not.toContain(name.slice(4));
      expect(COPY).not.toContain(name.slice(4));
    }
  },
);

test(
  `scenario 13, 14: image copied after setup → no request, exit 7; rebind with another name → a second robot (${NEEDS_MOUNT})`,
  { concurrent: true, tags: "needs/root", skip: !canMount },
  async ({ scene, proxy, robot }) => {
    const original = await onMachine(robot, ORIGINAL);
    const copy = await onMachine(robot, COPY);
    expect((await robot.runProcess(["--setup"], {}, original)).code).toBe(0);
    expect(proxy.requests).toHaveLength(1);

    {
      // A changed file does not make the copy send a request either.
      await replaceIn(robot.path("left.yaml"), "offset: 1", "offset: 7");
      await using daemon = await robot.startProcess({}, copy);
      const { healthy, summary } = await daemon.until(({ state }) => state === "other-machine");
      expect(healthy).toBe(false);
      expect(summary).toContain("robot-policy-agent rebind");
      for (const args of [["status"], ["--setup"], ["--setup", "--dry-run"]]) {
        const { code, stderr } = await robot.runProcess(args, {}, copy);
        expect([args, code]).toEqual([args, 7]);
        expect(stderr).toContain(
          `[other-machine]\n  → to register this machine as a new robot: ${robot.program} rebind`,
        );
      }
      daemon.child.kill("SIGHUP");
      await daemon.untilLogged("reload");
      await daemon.lookAgain();
      expect(proxy.requests).toHaveLength(1);
      await expectSameNameRefused(robot, copy);
    }
    const alone = await robot.runProcess(["--setup"], {}, copy);
    expect(alone.code).toBe(7);
    await expectSameNameRefused(robot, copy);
    expect(proxy.requests).toHaveLength(1);

    await replaceIn(robot.config_path, "name: arm-7", "name: arm-8");
    await using daemon = await robot.startProcess({}, copy);
    await daemon.until(({ state }) => state === "other-machine");
    const rebind = await robot.runProcess(["rebind"], {}, copy);
    expect([rebind.code, rebind.stdout]).toEqual([
      0,
      expect.stringMatching(/^Unbound from arm-7 .*\nRegistered arm-8 /),
    ]);
    expect(storedRobots(scene.service)).toEqual([
      { name: "arm-7", configuration_digest: setupBodies(proxy.requests)[0]?.configuration_digest },
      { name: "arm-8", configuration_digest: await robot.digest() },
    ]);
  },
);

/** Asserts that rebind under the old name is refused with a remedy and leaves the state unchanged. */
async function expectSameNameRefused(robot: Robot, machine: readonly string[]): Promise<void> {
  const before = await savedRegistration(robot);
  const { code, stderr } = await robot.runProcess(["rebind"], {}, machine);
  expect([code, stderr]).toEqual([
    7,
    expect.stringContaining("[same-name]\n  → for a copied image, give this machine"),
  ]);
  expect(stderr).toContain("another machine is registered as arm-7");
  expect(stderr).toContain(`for a new main board in the same robot: ${robot.program} rebind --same-robot`);
  expect(await savedRegistration(robot)).toEqual(before);
}

test(
  `a new main board in the same robot, rebind --same-robot → the same robot (${NEEDS_MOUNT})`,
  { concurrent: true, tags: "needs/root", skip: !canMount },
  async () => {
    await using scene = await createScene({ name: "'{hostname}'" });
    const { proxy, robot, service } = scene;
    expect((await robot.runProcess(["--setup"], {}, await onMachine(robot, ORIGINAL))).code).toBe(0);
    const [before] = await service.robots();
    const repaired = await onMachine(robot, COPY);
    await replaceIn(robot.config_path, "{hostname}", "other-{hostname}");
    const renamed = await robot.runProcess(["rebind", "--same-robot"], {}, repaired);
    expect([renamed.code, renamed.stderr]).toEqual([7, expect.stringContaining("this is not the same robot")]);
    await replaceIn(robot.config_path, "other-{hostname}", "{hostname}");

    await using daemon = await robot.startProcess({}, repaired);
    await daemon.until(({ state }) => state === "other-machine");
    const rebind = await robot.runProcess(["rebind", "--same-robot", "--json"], {}, repaired);
    expect(rebind.code).toBe(0);
    expect(JSON.parse(rebind.stdout)).toMatchObject({ rebound: true, status: { state: "registered", healthy: true } });
    expect(await service.robots()).toMatchObject([{ id: before?.id, name: before?.name }]);
    expect(proxy.requests).toHaveLength(2);
  },
);

test.concurrent("rebind beside the agent → registers a new robot and keeps the old registration aside", async () => {
  await using scene = await createScene();
  const { proxy, robot, service } = scene;
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  await replaceIn(robot.config_path, "name: arm-7", "name: arm-8");
  await daemon.until(({ state }) => state === "other-name");

  const rebind = await robot.run(["rebind"]);
  expect(rebind.stdout).toBe(
    `Unbound from arm-7 (kept as ${robot.state_directory}/registration.json.rebound).\n` +
      `Registered arm-8 as ${(await service.robots())[1]?.id} at ${proxy.url}\n`,
  );
  expect(rebind.code).toBe(0);
  expect(storedRobots(service).map(({ name }) => name)).toEqual(["arm-7", "arm-8"]);
  expect(await savedRegistration(robot)).toMatchObject({ request: { name: "arm-8" } });
  expect((await daemon.status()).healthy).toBe(true);
});

test.concurrent("rebind beside the agent during an outage → exit 4; later registers the new robot", async () => {
  await using scene = await createScene();
  const { proxy, robot } = scene;
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  await replaceIn(robot.config_path, "name: arm-7", "name: arm-8");
  await daemon.until(({ state }) => state === "other-name");
  proxy.inject({ kind: "answer", status: 503, body: "{}" }, 2);

  const rebind = await robot.run(["rebind"]);
  expect([rebind.code, rebind.stderr]).toEqual([4, expect.stringContaining("[service-unreachable]")]);
  expect(await savedRegistration(robot)).toBeNull();
  await daemon.until(({ state, robot: { name } }) => state === "registered" && name === "arm-8");
});

test.concurrent("rebind beside the agent, after an invalid edit → exit 3, and says why", async () => {
  await using scene = await createScene();
  const { robot } = scene;
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  await replaceIn(robot.config_path, "name: arm-7", "nane: arm-7");
  await daemon.until(({ healthy }) => !healthy);
  const { code, stdout, stderr } = await robot.run(["rebind"]);
  expect([code, stdout, stderr]).toEqual([
    3,
    expect.stringContaining("Registered arm-7 as "),
    expect.stringContaining("an edit is invalid"),
  ]);
});

test.concurrent("POST /rebind while the registration is still in the state directory → refused", async ({
  scene,
  proxy,
  robot,
}) => {
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  expect(JSON.parse(await daemon.ask("POST", "/rebind"))).toEqual({
    detail: "the registration is still in the state directory",
  });
  await expectOneRobot(scene, daemon);
  expect(proxy.requests).toHaveLength(1);
});

test(
  "rebind beside the agent, either killed at any moment → the old robot or the new one",
  { tags: "needs/program" },
  async () => {
    await using scene = await createScene();
    const { robot, service } = scene;
    let name = "arm-7";
    expect((await robot.run(["--setup"])).code).toBe(0);
    for (const [victim, delayMs] of [
      ["agent", 0],
      ["agent", 15],
      ["command", 0],
      ["command", 10],
    ] as const) {
      const next = `${name}x`;
      await using daemon = await robot.startProcess();
      // A daemon that reads the file for the first time while it is overwritten would find it empty, and exit.
      await daemon.until(({ state }) => state === "registered");
      await replaceIn(robot.config_path, `name: ${name}\n`, `name: ${next}\n`);
      await daemon.until(({ state }) => state === "other-name");
      await using command = startCommand(robot, ["rebind"]);
      // Rebind begins by moving the registration aside; the kill follows some time later.
      await Promise.race([movedAside(robot, name), command.ended()]);
      await sleep(delayMs);
      if (victim === "agent") await daemon.stop("SIGKILL");
      else command.child.kill("SIGKILL");
      await command.ended();
      await daemon.stop("SIGKILL");

      const saved = await savedRegistration(robot);
      expect(saved).toSatisfy((found) => found === null || isOneOf(found, [name, next]));
      await using after = await robot.start();
      const { state } = await after.until(({ state: now }) => now === "registered" || now === "other-name");
      if (state === "other-name") expect((await robot.run(["rebind"])).code).toBe(0);
      expect(await savedRegistration(robot)).toMatchObject({ request: { name: next } });
      expect(new Set(storedRobots(service).map(({ name: stored }) => stored)).has(next)).toBe(true);
      await after.stop();
      name = next;
    }
  },
);

/** Resolves once the registration of this name is moved aside. */
async function movedAside(robot: Robot, name: string): Promise<void> {
  const path = `${robot.state_directory}/registration.json.rebound`;
  await eventually(async () => {
    const text = await readFile(path, "utf8").catch(() => "");
    return text.includes(`"name": "${name}"`) ? true : undefined;
  }, "the registration moved aside");
}

function isOneOf(saved: unknown, names: readonly string[]): boolean {
  const { request } = saved as { request: { name: string } };
  return names.includes(request.name);
}

test.concurrent("a changed name → exit 7 and no request, until it is restored or rebound", async () => {
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
      /registered as arm-7, but its name is now arm-8.*\n {2}→ .*robot-policy-agent .*rebind/,
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

test.concurrent("scenario 15: a second daemon on the same state directory → exit 1 with the reason", async () => {
  await using scene = await createScene();
  const { proxy, robot } = scene;
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  // Also with another runtime directory: the lock is on the state directory.
  for (const args of [["run"], ["run", "--runtime-dir", robot.path("run2")]]) {
    const second = await robot.run(args);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain("another agent uses this state directory");
    expect(second.stderr).toContain(robot.state_directory);
    expect(second.stderr).toMatch(/→ show its status: robot-policy-agent .*status/);
  }
  await replaceIn(robot.path("left.yaml"), "offset: 1", "offset: 2");
  await expectOneRobot(scene, daemon);
  expect(proxy.requests).toHaveLength(2);
});

test.concurrent(
  "scenario 15: many daemons started at once → one runs, the others exit",
  { tags: "needs/program" },
  async () => {
    await using stack = new AsyncDisposableStack();
    const scene = stack.use(await createScene());
    const daemons = await Promise.all(Array.from({ length: times(6, 12) }, () => scene.robot.startProcess()));
    for (const daemon of daemons) stack.use(daemon);
    const running = () => daemons.filter(({ child }) => child.exitCode === null);
    await eventually(async () => running().length <= 1 || undefined, "a single daemon");
    const [winner] = running();
    expect(winner).toBeDefined();
    if (winner === undefined) return;
    await expectOneRobot(scene, winner);
    await winner.lookAgain();
    expect(scene.proxy.requests).toHaveLength(1);
  },
);

test.concurrent("scenario 15: --setup beside the daemon → the daemon registers", async ({ scene, proxy, robot }) => {
  await using daemon = await robot.start();
  const { daemon: before } = await expectOneRobot(scene, daemon);
  const setup = await robot.run(["--setup", "--json"]);
  expect(setup.code).toBe(0);
  expect(JSON.parse(setup.stdout)).toMatchObject({
    state: "registered",
    daemon: { process_id: process.pid, registrations: (before?.registrations ?? 0) + 1 },
  });
  expect(proxy.requests).toHaveLength(2);
  expect((await robot.run(["--setup", "--if-changed"])).code).toBe(0);
  // Nothing changed, so --if-changed only asks whether the service still has the registration.
  expect(proxy.requests.slice(2)).toMatchObject([{ method: "GET", path: "/v1/robots/arm-7/registration" }]);
  await expectOneRobot(scene, daemon);
});

test.concurrent("commands with another configuration than the running agent's → exit 1, no request", async () => {
  await using scene = await createScene();
  const { proxy, robot } = scene;
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  const other = robot.path("other.yaml");
  await writeFile(other, (await readFile(robot.config_path, "utf8")).replace("arm-7", "arm-8"));
  for (const args of [["--setup"], ["--setup", "--if-changed"], ["rebind"], ["reload"], ["status"]]) {
    const { code, stdout, stderr } = await robot.run([...args, "--config", other]);
    expect([args, code, stdout]).toEqual([args, 1, ""]);
    expect(stderr).toContain(`the running agent has another configuration: ${robot.config_path} (${other})`);
    expect(stderr).toContain(`→ to use that agent: --config ${robot.config_path}`);
  }
  const doctor = await robot.run(["doctor", "--config", other]);
  expect(doctor.stdout).toMatch(/warn +daemon +the running agent has another configuration/);
  const setKey = await robot.run(["set-key", "--config", other, "--from", robot.keyPath]);
  expect([setKey.code, setKey.stdout]).toEqual([
    0,
    expect.stringContaining(`The running agent does not use it: the running agent has another configuration`),
  ]);
  // A link to the same file counts as the same configuration.
  await symlink(robot.config_path, robot.path("link.yaml"));
  expect((await robot.run(["status", "--config", robot.path("link.yaml")])).code).toBe(0);
  expect(setupBodies(proxy.requests)).toHaveLength(1);
  await expectOneRobot(scene, daemon);
});
