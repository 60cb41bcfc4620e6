/** The files of an identity cannot be read while the agent starts, as on a disk that fails for a moment. */
import { chmod, lstat, mkdir, readdir, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import type { Daemon } from "../../../support/robot/daemon.ts";
import { PushedClock } from "../../../support/pushed-clock.ts";
import { createScene, type Scene } from "../../../support/service/scene.ts";
import { advanceUntil, ENROLLED, enrollAndStop, openScene } from "./scene.ts";

const MINUTE_MS = 60_000;

function keyPath({ robot }: Pick<Scene, "robot">): string {
  return join(robot.state_directory, "identity-key.json");
}

/** Reading it fails with ELOOP. */
async function makeUnreadable(path: string): Promise<void> {
  await symlink(path, path);
}

async function expectHeldBack(daemon: Daemon): Promise<void> {
  const { summary, identity } = await daemon.until(({ state }) => state === "identity-unreadable");
  expect(summary).toBe("Nothing is sent: the identity of this robot cannot be read (ELOOP)");
  expect(identity).toMatchObject({ state: "identity-unreadable" });
}

test("identity file unreadable → enroll, status and doctor exit with 1 and say so, and the file stays", async () => {
  await using scene = await createScene(ENROLLED);
  const { robot } = scene;
  await makeUnreadable(keyPath(scene));
  await using daemon = await robot.start();
  await expectHeldBack(daemon);
  for (const args of [["enroll"], ["status"], ["doctor"]]) {
    const { code, stdout, stderr } = await robot.run(args);
    expect({ args, code }).toEqual({ args, code: 1 });
    expect(stdout + stderr).toContain("the identity of this robot cannot be read (ELOOP)");
    expect(stdout + stderr).toContain("look at the disk, and at the files identity-*.json");
  }
  expect((await lstat(keyPath(scene))).isSymbolicLink()).toBe(true);
});

test("identity file unreadable, no agent → doctor says so, --setup sends nothing, and set-key does not promise that the key is used", async () => {
  await using scene = await createScene();
  const { robot, proxy } = scene;
  await makeUnreadable(keyPath(scene));
  const setup = await robot.run(["--setup"]);
  expect(setup.code).toBe(1);
  expect(setup.stderr).toContain("error: the identity of this robot cannot be read (ELOOP)");
  expect(proxy.requests).toEqual([]);
  expect((await robot.run(["doctor"])).stdout).toMatch(/^fail {2}key +the identity of this robot cannot be read/m);
  const key = await robot.run(["set-key", "--from", robot.keyPath]);
  expect(key.code).toBe(0);
  expect(key.stdout).toContain("It is not used for now: the identity of this robot cannot be read (ELOOP).");
});

test("identity file unreadable at the start, then absent → the API key is used after a resync", async () => {
  await using scene = await createScene();
  await makeUnreadable(keyPath(scene));
  const clock = new PushedClock();
  await using daemon = await scene.robot.start({}, clock);
  await expectHeldBack(daemon);
  await rm(keyPath(scene));
  const { identity } = await advanceUntil(daemon, clock, ({ state }) => state === "registered", MINUTE_MS);
  expect(identity).toBeNull();
});

test("identity file unreadable at the start, then readable → its credential is used after a resync", async () => {
  await using scene = await openScene();
  const { clock } = scene;
  await enrollAndStop(scene, clock);
  const path = keyPath(scene);
  await rename(path, `${path}.kept`);
  await makeUnreadable(path);
  await using daemon = await scene.robot.start({}, clock);
  await expectHeldBack(daemon);
  await rename(`${path}.kept`, path);
  await advanceUntil(daemon, clock, ({ state }) => state === "registered", MINUTE_MS);
  // To a heartbeat under way, such a jump of the clock is a timeout.
  const { identity } = await advanceUntil(daemon, clock, (status) => status.identity?.problem === null);
  expect(identity?.state).toBe("enrolled");
});

test.for([
  ["the key readable by others", "identity-key.json", 0o644, /identity-key.json has mode 0644: .*; chmod 600 /],
  [
    "the credential writable by others",
    "identity-credential.json",
    0o602,
    /credential.json has mode 0602: .*; chmod 600 /,
  ],
  ["the key readable by a group", "identity-key.json", 0o640, /identity-key.json has mode 0640: .*; chmod 600 /],
  ["a folder in which others can replace it", "", 0o777, /state has mode 0777: .*; chmod o-w /],
] as const)("identity with %s → nothing is sent; mended → used after a resync", async ([_what, name, mode, says]) => {
  await using scene = await openScene();
  const { robot, proxy, clock } = scene;
  await enrollAndStop(scene, clock);
  const path = join(robot.state_directory, name);
  const { mode: before } = await lstat(path);
  await chmod(path, mode);
  const sent = proxy.requests.length;
  const setup = await robot.run(["--setup"]);
  expect([setup.code, setup.stderr]).toEqual([1, expect.stringMatching(says)]);
  expect((await robot.run(["doctor"])).stdout).toMatch(says);
  await using daemon = await robot.start({}, clock);
  const { summary } = await daemon.until(({ state }) => state === "identity-unreadable");
  expect(summary).toMatch(says);
  expect(proxy.requests.slice(sent).filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
  await chmod(path, before);
  await advanceUntil(daemon, clock, ({ state }) => state === "registered", MINUTE_MS);
});

test("enroll into a folder in which others can replace files → refused, no key is made", async () => {
  await using scene = await createScene(ENROLLED);
  const { robot } = scene;
  await chmod(robot.state_directory, 0o777);
  const { code, stderr } = await robot.run(["enroll", "--no-wait"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("others can replace the identity of this robot")]);
  expect(await readdir(robot.state_directory)).not.toContain("identity-key.json");
});

test("a folder in place of the credential → set aside, whatever its mode; the robot enrolls again", async () => {
  await using scene = await openScene();
  const { robot, clock } = scene;
  await enrollAndStop(scene, clock);
  const path = join(robot.state_directory, "identity-credential.json");
  await rm(path);
  await mkdir(path, { mode: 0o755 });
  await using daemon = await robot.start({}, clock);
  await daemon.until(({ state }) => state === "waiting-for-approval");
  expect((await lstat(`${path}.damaged`)).isDirectory()).toBe(true);
});
