/** Power cuts between any two changes of the disk, and a full disk: the robot always recovers. */
import { readdir } from "node:fs/promises";

import { expect, test } from "vitest";

import { systemFiles } from "../../../../src/platform/files/files.ts";
import { createScene, type Scene } from "../../../support/service/scene.ts";
import { boot, type Computer, dyingFiles, watchedFiles } from "./computer.ts";
import { approve, ENROLLED, installation } from "./scene.ts";

/** Approves each new code once, until `isDone`. @param approved the codes approved so far. */
async function operate(
  scene: Scene,
  { identity, clock }: Computer,
  isDone: () => boolean,
  approved = new Set<string>(),
): Promise<void> {
  await expect
    .poll(async () => {
      const code = identity.view().status?.user_code ?? null;
      if (code !== null && !approved.has(code) && !isDone()) {
        approved.add(code);
        await approve(scene, code, { confirm_replace: true });
      }
      clock.push(1000);
      return isDone();
    })
    .toBe(true);
}

function isBeating({ identity }: Computer): boolean {
  const status = identity.view().status;
  return status?.state === "enrolled" && status.last_heartbeat_at !== null;
}

/** Changes that one enrolment makes on the disk. */
const ENROLMENT_CHANGES = 16;

test.each(Array.from({ length: ENROLMENT_CHANGES + 1 }, (_, changes) => changes))(
  "enrolment: power cut after %s changes of the disk → one approval in all",
  async (changes) => {
    await using scene = await createScene(ENROLLED);
    const files = dyingFiles(changes);
    const dying = await boot(scene, files);
    const approved = new Set<string>();
    await operate(scene, dying, () => files.isDead() || isBeating(dying), approved);
    expect(files.isDead()).toBe(changes < ENROLMENT_CHANGES);
    const died = dying.stop();

    const computer = await boot(scene);
    await operate(scene, computer, () => isBeating(computer), approved);
    expect(approved.size).toBe(1);
    expect(computer.identity.view().status?.user_code).toBeNull();
    expect(await readdir(scene.robot.state_directory)).not.toContain("identity-enrolment.json");
    expect(await installation(scene)).toMatchObject({ state: "active", generation: 1 });
    await computer.stop();
    files.release();
    await died;
  },
);

/** Changes that one renewal makes on the disk. */
const RENEWAL_CHANGES = 5;

async function enrolledScene(): Promise<Scene> {
  const scene = await createScene(ENROLLED);
  const computer = await boot(scene);
  await operate(scene, computer, () => isBeating(computer));
  await computer.stop();
  return scene;
}

test.each(Array.from({ length: RENEWAL_CHANGES }, (_, changes) => changes))(
  "renewal: power cut after %s changes of the disk → heartbeats continue, and the service sees no copy",
  async (changes) => {
    await using scene = await enrolledScene();
    const files = dyingFiles(changes);
    const dying = await boot(scene, files);
    dying.identity.credentialRefused("unauthorized");
    await expect.poll(() => files.isDead()).toBe(true);
    const died = dying.stop();

    const computer = await boot(scene);
    await operate(scene, computer, () => isBeating(computer));
    computer.identity.credentialRefused("unauthorized");
    const { version } = computer.identity.view();
    await operate(scene, computer, () => computer.identity.view().version !== version && isBeating(computer));
    expect(await installation(scene)).toMatchObject({ state: "active" });
    await computer.stop();
    files.release();
    await died;
  },
);

test("renewal: full disk → works from memory; restarts with the old file", async () => {
  await using scene = await enrolledScene();
  let isFull = true;
  const full = await boot(
    scene,
    watchedFiles(async (change) => {
      if (isFull && change === "write") throw Object.assign(new Error("full"), { code: "ENOSPC" });
    }),
  );
  const before = full.identity.view().version;
  full.identity.credentialRefused("unauthorized");
  await expect.poll(() => full.identity.view().status?.problem ?? "").toContain("ENOSPC");
  // The agent keeps the old credential, which is on the disk, until it must use the new one.
  expect(full.identity.view().version).toBe(before);
  full.clock.push(5 * 60_000);
  await operate(scene, full, () => full.identity.view().version !== before);
  const lastBeat = full.identity.view().status?.last_heartbeat_at;
  await operate(scene, full, () => full.identity.view().status?.last_heartbeat_at !== lastBeat);
  await full.stop();

  const restarted = await boot(scene, systemFiles);
  await operate(scene, restarted, () => isBeating(restarted));
  expect(await installation(scene)).toMatchObject({ state: "active" });
  await restarted.stop();
  isFull = false;
});
