/** The files of an identity cannot be read while the agent starts, as on a disk that fails for a moment. */
import { rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import type { Daemon } from "../../../support/robot/daemon.ts";
import { PushedClock } from "../../../support/pushed-clock.ts";
import { createScene, type Scene } from "../../../support/service/scene.ts";
import { advanceUntil, enrollAndStop, ENROLLED } from "./scene.ts";

const MINUTE_MS = 60_000;

function keyPath({ robot }: Pick<Scene, "robot">): string {
  return join(robot.state_directory, "identity-key.json");
}

/** Reading it fails with ELOOP. */
async function makeUnreadable(path: string): Promise<void> {
  await symlink(path, path);
}

async function expectHeldBack(daemon: Daemon): Promise<void> {
  const { summary } = await daemon.until(({ state }) => state === "unenrolled");
  expect(summary).toContain("the identity of this robot cannot be read (ELOOP)");
}

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
  await using scene = await createScene(ENROLLED);
  const clock = new PushedClock();
  await enrollAndStop(scene, clock);
  const path = keyPath(scene);
  await rename(path, `${path}.kept`);
  await makeUnreadable(path);
  await using daemon = await scene.robot.start({}, clock);
  await expectHeldBack(daemon);
  await rename(`${path}.kept`, path);
  const { identity } = await advanceUntil(daemon, clock, ({ state }) => state === "registered", MINUTE_MS);
  expect(identity).toMatchObject({ state: "enrolled", problem: null });
});
