/**
 * Like crashes.test.ts, with the real program on a real disk: strace kills it at its nth change of the state directory.
 *
 * @module-tag needs/program
 */
import { once } from "node:events";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { canTrace } from "../../../support/programs/programs.ts";
import type { DaemonProcess } from "../../../support/robot/daemon.ts";
import { isLong } from "../../../support/run/tier.ts";
import { createScene, type Scene } from "../../../support/service/scene.ts";
import { approve, installation, readIdentityFile, ServiceClock, shownCode } from "./scene.ts";

/** Short heartbeats: their answers tell a robot to renew, and the first comes within a tenth of the interval. */
const QUICK = { service: "  identity: enrolled\n  heartbeat_s: 5" };
/** The nth call of a system call on the identity files or their folder. */
type Change = readonly [call: string, nth: number];

/** Writes the key, then the enrolment. */
const START: readonly Change[] = [
  ["write", 1],
  ["fsync", 1],
  ["fsync", 2],
  ["write", 2],
  ["fsync", 3],
  ["rename", 1],
  ["fsync", 4],
];
/** Writes the credential. */
const RENEWAL: readonly Change[] = [
  ["write", 1],
  ["fsync", 1],
  ["rename", 1],
  ["fsync", 2],
];
const APPROVAL: readonly Change[] = [...RENEWAL, ["unlink", 1]];
const HOUR_MS = 60 * 60_000;

/** Starts a daemon that is killed at this change. */
async function startDoomed({ robot }: Scene, [call, nth]: Change): Promise<DaemonProcess> {
  const names = ["key", "enrolment", "credential"].flatMap((name) => [`${name}.json`, `${name}.json.new`]);
  const paths = [robot.state_directory, ...names.map((name) => join(robot.state_directory, `identity-${name}`))];
  // strace counts calls per thread, so there is one.
  const filter = `${paths.map((path) => `-P ${path}`).join(" ")} -e trace=${call} -e inject=${call}:signal=KILL:when=${nth}`;
  return robot.startProcess({ UV_THREADPOOL_SIZE: "1" }, `strace -D -f -qq -o /dev/null ${filter}`.split(" "));
}

async function untilKilled(starting: Promise<DaemonProcess>): Promise<void> {
  await using daemon = await starting;
  if (daemon.child.signalCode === null) await once(daemon.child, "exit");
  expect(daemon.child.signalCode).toBe("SIGKILL");
}

/** Starts the agent, approves its code, and stops it. */
async function enroll(scene: Scene): Promise<void> {
  await using daemon = await scene.robot.startProcess();
  await approve(scene, await shownCode(daemon));
}

/** Runs the agent until its first heartbeat. */
async function runOnce({ robot }: Scene): Promise<void> {
  await using daemon = await robot.startProcess();
  await daemon.until(({ state, identity }) => state === "registered" && (identity?.last_heartbeat_at ?? null) !== null);
}

/** All changes in the long tier. One in the gate, where crashes.test.ts tests all of them in this process. */
function inTier(changes: readonly Change[], inGate: number): readonly Change[] {
  return isLong ? changes : changes.slice(inGate, inGate + 1);
}

describe.skipIf(!canTrace)("kill -9 of the agent (needs strace)", () => {
  test.each(inTier(START, 5))("start of an enrolment, at %s %s → one approval in all", async (...change) => {
    await using scene = await createScene(QUICK);
    await untilKilled(startDoomed(scene, change));
    await enroll(scene);
    await runOnce(scene);
    expect(await installation(scene)).toMatchObject({ state: "active", generation: 1 });
  });

  test.each(inTier(APPROVAL, 2))("end of an enrolment, at %s %s → one approval in all", async (...change) => {
    await using scene = await createScene(QUICK);
    await enroll(scene);
    await untilKilled(startDoomed(scene, change));
    await runOnce(scene);
    expect(await installation(scene)).toMatchObject({ state: "active", generation: 1 });
  });

  test.each(inTier(RENEWAL, 3))(
    "renewal, at %s %s → heartbeats continue, and the service sees no copy",
    async (call, nth) => {
      const clock = new ServiceClock();
      await using scene = await createScene(QUICK, { clock });
      const token = async () => (await readIdentityFile(scene, "credential"))["installation_token"];
      await enroll(scene);
      await runOnce(scene);
      const first = await token();
      clock.aheadMs = 17 * HOUR_MS;
      await untilKilled(startDoomed(scene, [call, nth]));
      expect((await token()) === first).toBe(nth === 1);
      await runOnce(scene);
      clock.aheadMs = 34 * HOUR_MS;
      const second = await token();
      await using daemon = await scene.robot.startProcess();
      await daemon.until(async () => (await token()) !== second);
      expect(await installation(scene)).toMatchObject({ state: "active" });
    },
  );
});
