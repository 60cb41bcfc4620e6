/**
 * `set-key`: writes the key for the agent's user only; a running agent uses it at once.
 *
 * @module-tag needs/program
 */
import { chmod, chown, mkdir, readFile, readdir, stat, symlink, writeFile } from "node:fs/promises";

import { describe, expect } from "vitest";

import { agentWords, startCommand, startWords } from "../../../support/programs/command.ts";
import { asNobody, canBecomeNobody, NOBODY_ID } from "../../../support/programs/programs.ts";
import { test } from "../../../support/service/scene-test.ts";
import { createScene, expectOneRobot } from "../../../support/service/scene.ts";

const UNKNOWN_KEY = "sk_test_0123456789abcdefghijklm";
const CANARY = "sk_test_CANARYcanary0123456789";

describe("set-key", () => {
  test("stdin → a running agent without a valid key registers with it", async () => {
    await using scene = await createScene({ key: UNKNOWN_KEY });
    const { robot, service } = scene;
    await using daemon = await robot.start();
    await daemon.until(({ state }) => state === "unauthorized");
    await using command = startCommand(robot, ["set-key"]);
    command.child.stdin?.end(`${service.key}\n`);
    expect(await command.ended()).toBe(0);
    await expectOneRobot(scene, daemon);
    expect((await stat(robot.keyPath)).mode & 0o777).toBe(0o600);
    expect(command.output()).not.toContain(service.key);
  });

  test("--from: a file of any mode → the key is copied, and the file is unchanged", async ({ robot }) => {
    await writeFile(robot.path("stick"), `${CANARY}\n`, { mode: 0o666 });
    const { code, stdout, stderr } = await robot.run(["set-key", "--json", "--from", robot.path("stick")]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toEqual({ key_file: robot.keyPath, user_id: process.getuid?.(), mode: "0600" });
    expect(await readFile(robot.keyPath, "utf8")).toBe(`${CANARY}\n`);
    expect(await readdir(robot.folder)).not.toContain("api-key.new");
  });

  test.each([
    ["nothing", "", "key-empty"],
    ["no key", "hunter2 CANARY\n", "key-space"],
    ["two keys", `${CANARY}\n${CANARY}\n`, "key-several-lines"],
    ["more than a key", CANARY.repeat(400), "key-too-large"],
  ])("%s → refused, not repeated, and the old key stays", async (_what, text, code) => {
    await using scene = await createScene();
    const { robot, service } = scene;
    await using command = startCommand(robot, ["set-key"]);
    command.child.stdin?.on("error", () => {});
    command.child.stdin?.end(text);
    expect(await command.ended()).toBe(1);
    expect(command.output()).toContain(`[${code}]`);
    expect(command.output()).not.toContain("CANARY");
    expect(await readFile(robot.keyPath, "utf8")).toBe(`${service.key}\n`);
  });

  test.each([[[CANARY]], [["--from", CANARY]], [["--from", CANARY, "--json"]], [[CANARY, "--json"]]])(
    "the key as an argument, %j → refused, and not repeated",
    async (args) => {
      await using scene = await createScene();
      const { code, stdout, stderr } = await scene.robot.run(["set-key", ...args]);
      expect(code).toBeGreaterThan(0);
      expect(stderr).toContain("sk_…");
      expect(stdout + stderr).not.toContain("CANARY");
    },
  );

  test.each([
    ["that is not there", "/nothing", "the file does not exist", "→ correct the path after --from"],
    ["that is a folder, or a pipe", "/", "it is not a regular file", "→ omit --from: stdin may be a pipe"],
    ["that is a socket", "/dev/fd/0", "it is not a regular file", "→ omit --from: stdin may be a pipe"],
  ])("--from a file %s → refused with a remedy", async (_what, path, what, fix) => {
    await using scene = await createScene();
    const { code, stderr } = await scene.robot.run(["set-key", "--from", path]);
    expect(code).toBe(1);
    expect(stderr).toContain(what);
    expect(stderr).toContain(fix);
  });

  test("the key file is a link, as Kubernetes secrets are → refused, and its target is unchanged", async ({
    robot,
  }) => {
    await mkdir(robot.path("secrets"));
    await writeFile(robot.path("secrets/api-key"), "theirs");
    await writeFile(robot.path("stick"), CANARY);
    await symlink(robot.path("secrets/api-key"), robot.path("linked"));
    await writeFile(
      robot.config_path,
      (await readFile(robot.config_path, "utf8")).replace(robot.keyPath, robot.path("linked")),
    );
    const { code, stderr } = await robot.run(["set-key", "--from", robot.path("stick")]);
    expect(code).toBe(1);
    expect(stderr).toContain("[key-not-a-file]");
    expect(await readFile(robot.path("secrets/api-key"), "utf8")).toBe("theirs");
  });

  test.skipIf(!canBecomeNobody)(
    "as root (needs root) → the key belongs to the agent's user, who owns the state directory",
    async () => {
      await using scene = await createScene();
      const { robot } = scene;
      await chown(robot.state_directory, NOBODY_ID, NOBODY_ID);
      await writeFile(robot.path("stick"), CANARY);
      expect((await robot.run(["set-key", "--from", robot.path("stick")])).code).toBe(0);
      const { uid, mode } = await stat(robot.keyPath);
      expect([uid, mode & 0o777]).toEqual([NOBODY_ID, 0o600]);
      const check = await robot.run(["check", "--json"]);
      expect(JSON.parse(check.stdout)).toMatchObject({ checked_as: { user_id: NOBODY_ID, is_agent: true } });
    },
  );

  test.skipIf(!canBecomeNobody)("as another user (needs root) → refused, with the command for root", async () => {
    await using scene = await createScene();
    const { robot } = scene;
    await chmod(robot.folder, 0o755);
    await using command = startWords([...asNobody, ...agentWords(robot, ["set-key"])]);
    command.child.stdin?.on("error", () => {});
    command.child.stdin?.end(CANARY);
    expect(await command.ended()).toBe(1);
    expect(command.output()).toContain(`sudo ${robot.program} set-key`);
  });
});
