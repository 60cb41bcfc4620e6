/**
 * Scenario 35: the state directory cannot be written, and the robot still registers, as one robot. test/unit/agent/agent.test.ts tests
 * that the agent retries the write without a command.
 *
 * @module-tag needs/root
 */
import { chmod, chown, rm, stat, writeFile } from "node:fs/promises";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { describe, expect } from "vitest";

import {
  NOBODY_ID,
  asNobody,
  canBecomeNobody,
  canMount,
  inShell,
  isRoot,
  withOwnMounts,
} from "../../../support/programs/programs.ts";
import type { Daemon } from "../../../support/robot/daemon.ts";
import { replaceIn, type Robot } from "../../../support/robot/robot.ts";
import { test } from "../../../support/service/scene-test.ts";
import {
  createScene,
  expectOneRobot,
  savedRegistration,
  type Scene,
  sentDigests,
  storedRobots,
} from "../../../support/service/scene.ts";

const run = promisify(execFile);

/** Waits until the robot is registered with its state unsaved. Returns the robots of the service. */
async function expectUnsaved(scene: Scene, daemon: Daemon, code: RegExp): Promise<void> {
  const digest = await scene.robot.digest();
  const status = await daemon.until(
    ({ state, registration }) => state === "registered" && registration?.configuration_digest === digest,
  );
  expect(status.state_problem).toMatch(code);
  expect(status.state_problem).toContain(scene.robot.state_directory);
  expect(storedRobots(scene.service)).toEqual([{ name: "arm-7", configuration_digest: digest }]);
}

describe("scenario 35 (needs root and unshare(1)): a state directory", { concurrent: true, skip: !canMount }, () => {
  const disks: readonly [string, RegExp, string, string][] = [
    ["on a full disk", /ENOSPC/, `head -c 1M /dev/zero >"$STATE/filler" || true`, `rm "$STATE/filler"`],
    ["on a read-only disk", /EROFS/, `mount -o remount,ro "$STATE"`, `mount -o remount,rw "$STATE"`],
  ];

  test.for(disks)(
    "%s → registers and reports the problem; saves once it can; the next start sends nothing",
    async ([, code, spoil, mend]) => {
      await using scene = await createScene();
      const { proxy, robot } = scene;
      const environment = { STATE: robot.state_directory };
      // Only this daemon sees this disk of 64 KiB.
      const mount = `mount -t tmpfs -o size=64k,mode=700 none "$STATE"`;
      await using daemon = await robot.startProcess(environment, inShell(withOwnMounts, `${mount}; ${spoil}`));
      await expectUnsaved(scene, daemon, code);
      expect(await daemon.untilLogged("state-not-saved")).toHaveLength(1);
      const setup = await robot.run(["status"]);
      expect(setup.stdout).toMatch(code);

      // Changes are registered; the disk problem is not logged again.
      await replaceIn(robot.path("left.yaml"), "offset: 1", "offset: 2");
      await expectUnsaved(scene, daemon, code);
      expect(await daemon.untilLogged("state-not-saved")).toHaveLength(1);

      const inside = ["--mount", `--target=${daemon.process_id}`];
      await run("nsenter", [...inside, "sh", "-ec", mend], { env: { ...process.env, ...environment } });
      await daemon.lookAgain();
      await daemon.until(({ state_problem: stateProblem }) => stateProblem === null);
      const seen = { ...robot, state_directory: `/proc/${daemon.process_id}/root${robot.state_directory}` };
      await expectOneRobot({ ...scene, robot: seen }, daemon);
      expect(proxy.requests).toHaveLength(2);

      // A second start finds the saved registration.
      const saved = await savedRegistration(seen);
      const unchanged = await robot.runProcess(["--setup", "--if-changed", "--json"], environment, [
        "nsenter",
        ...inside,
      ]);
      expect(unchanged.code).toBe(0);
      expect(await savedRegistration(seen)).toEqual(saved);
      expect(sentDigests(proxy)).toHaveLength(2);
    },
  );
});

describe(
  "scenario 35: a state directory without write permission",
  { concurrent: true, skip: isRoot && !canBecomeNobody },
  () => {
    /** Root ignores permissions, so the daemon runs as another user. */
    const asDaemonUser = isRoot ? asNobody : [];
    const ownerId = isRoot ? NOBODY_ID : (process.getuid?.() ?? 0);

    async function giveToDaemon(robot: Robot): Promise<void> {
      for (const path of [robot.folder, robot.runtime_directory, robot.state_directory, robot.keyPath])
        await chown(path, ownerId, ownerId);
      await chmod(robot.state_directory, 0o500);
    }

    test("restart before the state is saved → one more request, one robot", async ({ scene, proxy, robot }) => {
      await giveToDaemon(robot);
      {
        await using daemon = await robot.startProcess({}, asDaemonUser);
        await expectUnsaved(scene, daemon, /EACCES/);
        await daemon.stop("SIGKILL");
      }
      await using daemon = await robot.startProcess({}, asDaemonUser);
      await expectUnsaved(scene, daemon, /EACCES/);
      expect(proxy.requests).toHaveLength(2);

      await chmod(robot.state_directory, 0o700);
      await daemon.lookAgain();
      await daemon.until(({ state_problem: stateProblem }) => stateProblem === null);
      await expectOneRobot(scene, daemon);
      expect(await daemon.untilLogged("state-saved")).toHaveLength(1);
      await daemon.stop();

      await using third = await robot.startProcess({}, asDaemonUser);
      await expectOneRobot(scene, third);
      expect(proxy.requests).toHaveLength(2);
    });

    test("--setup → registers, exits 0 and says that the state is not saved", async ({ robot }) => {
      await giveToDaemon(robot);
      const { code, stdout, stderr } = await robot.runProcess(["--setup"], {}, asDaemonUser);
      expect([code, stdout.startsWith("Registered arm-7 as rob_")]).toEqual([0, true]);
      expect(stderr).toContain(`State not saved: ${robot.state_directory} cannot be written (EACCES)`);
    });

    test("unreadable state → exit 1, no request, state unchanged", async ({ proxy, robot }) => {
      await giveToDaemon(robot);
      await chmod(robot.state_directory, 0o700);
      const path = join(robot.state_directory, "registration.json");
      await writeFile(path, "{}", { mode: 0o000 });
      await chmod(path, 0o000);
      for (const command of ["run", "--setup"]) {
        const { code, stderr } = await robot.runProcess([command], {}, asDaemonUser);
        expect([command, code]).toEqual([command, 1]);
        expect(stderr).toContain("[state-unreadable]");
      }
      expect(proxy.requests).toHaveLength(0);
      expect((await stat(path)).size).toBe(2);
      await rm(path);
    });
  },
);
