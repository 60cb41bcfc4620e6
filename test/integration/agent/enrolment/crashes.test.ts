/** The power is cut between any two changes of the disk, or the disk takes no more: the robot is never left without a way back. */
import { expect, test } from "vitest";

import { systemFiles } from "../../../../src/platform/files/files.ts";
import { createScene, type Scene } from "../../../support/service/scene.ts";
import { boot, type Computer, dyingFiles, watchedFiles } from "./computer.ts";
import { approve, ENROLLED, installation } from "./scene.ts";

/** Approves each code that is shown, once, until the computer is as wanted. @param approved the codes so far. */
async function operate(
  scene: Scene,
  { identity, clock }: Computer,
  isDone: () => boolean,
  approved = new Set<string>(),
): Promise<void> {
  await expect
    .poll(async () => {
      const code = identity.status()?.user_code ?? null;
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
  const status = identity.status();
  return status?.state === "enrolled" && status.last_heartbeat_at !== null;
}

/** Changes of the disk by one enrolment. */
const ENROLMENT_CHANGES = 15;

test.each(Array.from({ length: ENROLMENT_CHANGES + 1 }, (_, changes) => changes))(
  "enrolment: the power is cut after %s changes of the disk: one approval in all",
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
    expect(await installation(scene)).toMatchObject({ state: "active", generation: 1 });
    await computer.stop();
    files.release();
    await died;
  },
);

/** Changes of the disk by one renewal. */
const RENEWAL_CHANGES = 5;

async function enrolledScene(): Promise<Scene> {
  const scene = await createScene(ENROLLED);
  const computer = await boot(scene);
  await operate(scene, computer, () => isBeating(computer));
  await computer.stop();
  return scene;
}

test.each(Array.from({ length: RENEWAL_CHANGES }, (_, changes) => changes))(
  "renewal: the power is cut after %s changes of the disk: the robot goes on, and is not taken for a copy",
  async (changes) => {
    await using scene = await enrolledScene();
    const files = dyingFiles(changes);
    const dying = await boot(scene, files);
    dying.identity.doubt();
    await expect.poll(() => files.isDead()).toBe(true);
    const died = dying.stop();

    const computer = await boot(scene);
    await operate(scene, computer, () => isBeating(computer));
    computer.identity.doubt();
    const { version } = computer.identity;
    await operate(scene, computer, () => computer.identity.version !== version && isBeating(computer));
    expect(await installation(scene)).toMatchObject({ state: "active" });
    await computer.stop();
    files.release();
    await died;
  },
);

test("renewal: a full disk: the robot works on from memory, and comes back with the old file", async () => {
  await using scene = await enrolledScene();
  let isFull = true;
  const full = await boot(
    scene,
    watchedFiles(async (change) => {
      if (isFull && change === "write") throw Object.assign(new Error("full"), { code: "ENOSPC" });
    }),
  );
  const before = full.identity.version;
  full.identity.doubt();
  await expect.poll(() => full.identity.status()?.problem ?? "").toContain("ENOSPC");
  // The value on the disk is good until the new one is used.
  expect(full.identity.version).toBe(before);
  full.clock.push(5 * 60_000);
  await operate(scene, full, () => full.identity.version !== before);
  const lastBeat = full.identity.status()?.last_heartbeat_at;
  await operate(scene, full, () => full.identity.status()?.last_heartbeat_at !== lastBeat);
  await full.stop();

  const restarted = await boot(scene, systemFiles);
  await operate(scene, restarted, () => isBeating(restarted));
  expect(await installation(scene)).toMatchObject({ state: "active" });
  await restarted.stop();
  isFull = false;
});
