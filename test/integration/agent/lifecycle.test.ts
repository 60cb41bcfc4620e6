/**
 * The daemon is started, stopped, killed and restarted at any moment: there is never a second robot.
 *
 * @module-tag needs/program
 */
import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

import { describe, expect } from "vitest";

import { eventually, writeAtOnce } from "../../support/robot/robot.ts";
import { times } from "../../support/run/tier.ts";
import type { Fault } from "../../support/service/fault-proxy.ts";
import { test } from "../../support/service/scene-test.ts";
import { createScene, expectOneRobot, sentDigests, storedRobots } from "../../support/service/scene.ts";

/** Below the 30 s of a request, but long enough for a busy machine. test/simulation measures the stop exactly. */
const PROMPTLY_MS = 10_000;
/** Enough signals to arrive in every phase of a start. */
const MANY = times(30, 100);

describe("scenario 38: SIGTERM during a POST", () => {
  const moments: readonly [string, Fault, number][] = [
    ["that the service has not received", { kind: "hang" }, 0],
    ["that the service has committed", { kind: "hold" }, 1],
  ];

  test.for(moments)("%s → exits 0 at once; the next start registers once", async ([, fault, committed]) => {
    await using scene = await createScene();
    const { proxy, robot, service } = scene;
    proxy.inject(fault);
    {
      await using daemon = await robot.startProcess();
      await proxy.arrived(1);
      await eventually(async () => storedRobots(service).length === committed || undefined, "the commit");
      const signalledMs = performance.now();
      expect(await daemon.stop("SIGTERM")).toBe(0);
      expect(performance.now() - signalledMs).toBeLessThan(PROMPTLY_MS);
    }
    expect(existsSync(robot.socket_path)).toBe(false);
    await using daemon = await robot.start();
    await expectOneRobot(scene, daemon);
    await daemon.lookAgain();
    expect(proxy.requests).toHaveLength(2);
  });
});

test("scenario 38: SIGTERM while settling, SIGINT during a backoff → exits 0 at once; the compile cache is written", async () => {
  await using scene = await createScene({ watch: "{settle_ms: 20000}" });
  const { proxy, robot } = scene;
  await proxy.refuse();
  const compiled = { NODE_COMPILE_CACHE: robot.path("cache") };
  await using settling = await robot.startProcess(compiled);
  await settling.until(({ state }) => state === "settling");
  const signalledMs = performance.now();
  expect(await settling.stop("SIGTERM")).toBe(0);
  expect(performance.now() - signalledMs).toBeLessThan(PROMPTLY_MS);
  expect(await readdir(compiled.NODE_COMPILE_CACHE)).toHaveLength(1);

  await writeAtOnce(robot.config_path, (await readFile(robot.config_path, "utf8")).replace("20000", "100"));
  await using backingOff = await robot.startProcess(compiled);
  await backingOff.until(({ state }) => state === "unreachable");
  const signalledAgainMs = performance.now();
  expect(await backingOff.stop("SIGINT")).toBe(0);
  expect(performance.now() - signalledAgainMs).toBeLessThan(PROMPTLY_MS);
});

test("scenario 37: many SIGHUPs during the start → registers once", async ({ scene, proxy, robot }) => {
  proxy.inject({ kind: "hold" });
  await using daemon = await robot.startProcess();
  // Until its handler is installed, SIGHUP ends a Node process: node(1) resets every signal to its default at start.
  await eventually(async () => (await catches(daemon.process_id, 1)) || undefined, "the SIGHUP handler");
  let signals = 0;
  let state = "";
  while (state !== "registered") {
    daemon.child.kill("SIGHUP");
    signals += 1;
    if (signals >= MANY) proxy.release();
    if (existsSync(robot.socket_path)) ({ state } = await daemon.status());
    await sleep(1);
  }
  for (let more = 0; more < MANY; more += 1) daemon.child.kill("SIGHUP");
  await expectOneRobot(scene, daemon);
  await daemon.lookAgain();
  expect(proxy.requests).toHaveLength(1);
  expect(daemon.child.exitCode).toBeNull();
});

test("kill -9 at many moments while files change → one robot, with the files on the disk", async () => {
  await using scene = await createScene({ watch: "{settle_ms: 60}" });
  const { proxy, robot } = scene;
  const versions = new Set([await robot.digest()]);
  // The moments below are fractions of the time from process start to the registration on this machine.
  const startedMs = performance.now();
  await using undisturbed = await robot.startProcess();
  await proxy.arrived(1);
  const registeringMs = performance.now() - startedMs;
  await expectOneRobot(scene, undisturbed);
  await undisturbed.stop();
  const last = times(8, 20);
  for (let round = 0; round <= last; round += 1) {
    const count = proxy.requests.length;
    await using daemon = await robot.startProcess();
    // From process start to well after the registration; the last one during the request.
    const moment = round < last ? sleep((registeringMs * 2 * round) / last) : proxy.arrived(count + 1);
    const killed = moment.then(() => daemon.stop("SIGKILL"));
    await writeAtOnce(robot.path("left.yaml"), `offset: ${round}\n`);
    versions.add(await robot.digest());
    expect(await killed).toBe("SIGKILL");
    expect(storedRobots(scene.service).length).toBeLessThanOrEqual(1);
  }
  for (const digest of sentDigests(proxy)) expect(versions).toContain(digest);

  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  expect(new Set((await scene.service.robots()).map(({ id }) => id)).size).toBe(1);
});

test("restart after kill -9, nothing changed → no request, and a new control socket", async ({
  scene,
  proxy,
  robot,
}) => {
  {
    await using daemon = await robot.startProcess();
    await expectOneRobot(scene, daemon);
    expect(await daemon.stop("SIGKILL")).toBe("SIGKILL");
  }
  expect(existsSync(robot.socket_path)).toBe(true);
  await using daemon = await robot.startProcess();
  const status = await expectOneRobot(scene, daemon);
  expect(status.daemon).toMatchObject({ process_id: daemon.process_id, attempts: 0 });
  expect((await robot.run(["status"])).code).toBe(0);
  await daemon.lookAgain();
  expect(proxy.requests).toHaveLength(1);
});

test("a torn state file → set aside; registers again as the same robot", async ({ scene, proxy, robot }) => {
  const statePath = `${robot.state_directory}/registration.json`;
  {
    await using daemon = await robot.start();
    await expectOneRobot(scene, daemon);
    await daemon.stop();
  }
  const content = await readFile(statePath);
  await writeAtOnce(statePath, content.subarray(0, content.byteLength / 2));
  await writeAtOnce(`${statePath}.new`, "left by a power cut");
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  expect(proxy.requests).toHaveLength(2);
  expect(existsSync(`${statePath}.damaged`)).toBe(true);
  expect(existsSync(`${statePath}.new`)).toBe(false);
  expect(await daemon.untilLogged("state-set-aside")).toHaveLength(1);
});

/** True when the process has a handler for the signal (proc_pid_status(5), SigCgt). */
async function catches(processId: number, signal: number): Promise<boolean> {
  const status = await readFile(`/proc/${processId}/status`, "utf8");
  const mask = /^SigCgt:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0";
  return ((BigInt(`0x${mask}`) >> BigInt(signal - 1)) & 1n) === 1n;
}
