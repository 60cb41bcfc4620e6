/** `look`, which the timer runs each minute where no agent runs in between. */
import { chmod, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { resolveFolders } from "../../../src/agent/configuration/folders.ts";
import { statusBetweenLooks } from "../../../src/agent/on-demand.ts";
import { loadRegistration, saveRegistration } from "../../../src/agent/registration/registration.ts";
import type { StatusDocument } from "../../../src/agent/status.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { sha256Hex } from "../../../src/platform/crypto.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { runAgentProgram } from "../../../src/agent/program.ts";
import { runInProcess } from "../../support/programs/in-process.ts";
import { systemMachine } from "../../../src/platform/machine.ts";
import { PushedClock } from "../../support/pushed-clock.ts";
import { digestOfFiles } from "../../support/robot/digest.ts";
import { eventually, type Robot, writeAtOnce } from "../../support/robot/robot.ts";
import { forgetRobots } from "../../support/service/service.ts";
import { createScene, savedRegistration, type Scene, storedRobots } from "../../support/service/scene.ts";
import { approve, enrollAndStop, ENROLLED, installation, readIdentityFile, ServiceClock } from "./enrolment/scene.ts";

/** Everything that a write would change below the robot's folder. */
async function traces({ folder }: Robot): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true });
  const lines = names.map(async (name) => {
    const { ino, mtimeMs, ctimeMs, size } = await stat(join(folder, name));
    return [name, ino, mtimeMs, ctimeMs, size].join(" ");
  });
  return (await Promise.all(lines)).toSorted();
}

const memoryOf = ({ runtime_directory: folder }: Robot) => join(folder, "look.json");
const remembered = async (robot: Robot) =>
  JSON.parse(await readFile(memoryOf(robot), "utf8")) as {
    confirm_ms: number;
    status: unknown;
    kept?: { until_ms: number; files: readonly { path: string; sha256: string }[] };
  };
const remember = async (robot: Robot, more: object) =>
  writeFile(memoryOf(robot), JSON.stringify({ ...(await remembered(robot)), ...more }));

/** Looks. @returns the events of the log. */
async function eventsOf(robot: Robot): Promise<readonly string[]> {
  const folders = `--config=${robot.config_path} --state-dir=${robot.state_directory} --runtime-dir=${robot.runtime_directory}`;
  const look = ["look", ...folders.split(" ")];
  const { err } = await runInProcess("look", (own) => runAgentProgram(look, own), { isLogShown: true });
  return [...err.matchAll(/"event":"([a-z-]+)"/g)].map(([, event = ""]) => event);
}

/** As between two looks. */
function statusOf(robot: Robot, files = systemFiles) {
  const context = {
    machine: { ...systemMachine({}, process.pid), files },
    signal: new AbortController().signal,
    environment: {},
    version: "1.0.0",
    userId: process.getuid?.() ?? 0,
  };
  const folders = resolveFolders(
    { config: robot.config_path, stateDir: robot.state_directory, runtimeDir: robot.runtime_directory },
    {},
  );
  const timer = { isActive: true, isEnabled: true, lastLookMs: systemClock.monotonicMs(), lastResult: "success" };
  return statusBetweenLooks(timer, folders, context);
}

const sent = ({ proxy }: Scene) => proxy.requests.map(({ method, path }) => `${method} ${path}`);

test("look: new robot → registered; nothing changed → sends nothing, writes nothing, says nothing", async () => {
  await using scene = await createScene();
  const { robot, service } = scene;
  const first = await robot.run(["look"]);
  expect(first.code).toBe(0);
  expect(storedRobots(service)).toEqual([{ name: "arm-7", configuration_digest: await robot.digest() }]);
  expect(sent(scene)).toEqual(["POST /v1/robots/setup"]);

  const before = await traces(robot);
  expect(await robot.run(["look"])).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(await traces(robot)).toEqual(before);
  expect(sent(scene)).toHaveLength(1);
});

test("look: a changed file → registered once; written again with the same content → nothing", async () => {
  await using scene = await createScene();
  const { robot, service } = scene;
  await robot.run(["look"]);
  const [left = ""] = robot.paths;
  await writeAtOnce(left, "offset: 3\n");
  expect((await robot.run(["look"])).code).toBe(0);
  expect(storedRobots(service)).toEqual([{ name: "arm-7", configuration_digest: await digestOfFiles(...robot.paths) }]);
  await writeAtOnce(left, "offset: 3\n");
  expect((await robot.run(["look"])).code).toBe(0);
  expect(sent(scene).filter((request) => request === "POST /v1/robots/setup")).toHaveLength(2);
});

test("look: held, or a file is missing → nothing is sent; then the change is", async () => {
  await using scene = await createScene();
  const { robot } = scene;
  await robot.run(["look"]);
  const [left = ""] = robot.paths;
  await robot.run(["hold", "--for", "10m"]);
  await writeAtOnce(left, "offset: 4\n");
  expect((await robot.run(["look"])).code).toBe(0);
  expect(sent(scene)).toHaveLength(1);
  await robot.run(["release"]);
  await rm(left);
  expect((await robot.run(["look"])).code).toBe(0);
  expect(sent(scene)).toHaveLength(1);
  await writeAtOnce(left, "offset: 4\n");
  expect((await robot.run(["look"])).code).toBe(0);
  expect(sent(scene)).toHaveLength(2);
});

test("look: unreachable → tried by each look; refused → not sent again before its time, and at once with another key", async () => {
  await using scene = await createScene();
  const { robot, proxy } = scene;
  proxy.inject({ kind: "answer", status: 503 });
  expect((await robot.run(["look"])).code).toBe(0);
  proxy.inject({ kind: "answer", status: 401 });
  await robot.run(["look"]);
  expect(sent(scene)).toHaveLength(2);
  const memory = await stat(memoryOf(robot));
  expect(memory.mode & 0o777).toBe(0o640);
  await robot.run(["look"]);
  expect(sent(scene)).toHaveLength(2);
  expect((await stat(memoryOf(robot))).ino).toBe(memory.ino);
  // The same key, written again: it might be another.
  await chmod(robot.keyPath, 0o400);
  await robot.run(["look"]);
  expect(sent(scene)).toHaveLength(3);
  expect(await remembered(robot)).toMatchObject({ status: null, inputs: "", until_ms: 0 });
});

test("look: unreachable for many looks → one warning; no answer whether the service has the registration → asked later", async () => {
  await using scene = await createScene();
  const { robot, proxy } = scene;
  const said: string[] = [];
  for (let look = 0; look < 4; look += 1) {
    proxy.inject({ kind: "answer", status: 503 });
    said.push(...(await eventsOf(robot)));
  }
  said.push(...(await eventsOf(robot)));
  expect(said).toEqual(["unreachable", "registered"]);
  await remember(robot, { confirm_ms: 0 });
  proxy.inject({ kind: "answer", status: 503 });
  await robot.run(["look"]);
  await robot.run(["look"]);
  expect(sent(scene).slice(5)).toEqual(["GET /v1/robots/arm-7/registration"]);
  expect((await remembered(robot)).confirm_ms).toBeLessThan(systemClock.monotonicMs() + 15 * 60_000);
});

test("look: beside a running agent → leaves everything to it", async () => {
  await using scene = await createScene();
  const { robot } = scene;
  await using daemon = await robot.start();
  await daemon.until(({ state }) => state === "registered");
  expect((await robot.run(["look"])).code).toBe(0);
  expect(sent(scene)).toHaveLength(1);
});

test("look: some minutes after a boot → asks the service; what it lost is registered again", async () => {
  await using scene = await createScene();
  const { robot, service } = scene;
  await robot.run(["look"]);
  const asked = "GET /v1/robots/arm-7/registration";
  // As after a boot.
  await rm(memoryOf(robot));
  await robot.run(["look"]);
  const { confirm_ms: confirmMs } = await remembered(robot);
  const nowMs = systemClock.monotonicMs();
  expect(confirmMs).toBeGreaterThan(nowMs + 3 * 60_000);
  expect(confirmMs).toBeLessThan(nowMs + 10 * 60_000);
  expect(sent(scene)).toEqual(["POST /v1/robots/setup"]);

  await remember(robot, { confirm_ms: nowMs });
  await robot.run(["look"]);
  expect(sent(scene)).toEqual(["POST /v1/robots/setup", asked]);
  expect((await remembered(robot)).confirm_ms).toBeGreaterThan(nowMs + 20 * 60 * 60_000);
  await forgetRobots(service);
  await remember(robot, { confirm_ms: nowMs });
  await robot.run(["look"]);
  expect(sent(scene).slice(2)).toEqual([asked, "POST /v1/robots/setup"]);
});

test("look: power cut during a request, so that the mark of an orderly stop is missing → asks the service at once, one time", async () => {
  await using scene = await createScene();
  const { robot } = scene;
  await robot.run(["look"]);
  await rm(memoryOf(robot));
  await rm(join(robot.state_directory, "stopped"));
  await robot.run(["look"]);
  await robot.run(["look"]);
  expect(sent(scene)).toEqual(["POST /v1/robots/setup", "GET /v1/robots/arm-7/registration"]);
});

test("look: trusts the stat of a registered file, and does not read it", async () => {
  await using scene = await createScene();
  const { robot } = scene;
  await robot.run(["look"]);
  const loaded = await loadRegistration(systemFiles, robot.state_directory);
  if (loaded.kind !== "content") throw new Error(loaded.kind);
  const { content } = loaded;
  // Another hash than that of what is in the files.
  const files = content.files.map((file) => ({ ...file, sha256: sha256Hex(file.path) }));
  const digest = `sha256:${sha256Hex(files.map(({ sha256 }) => sha256).join("\n") + "\n")}`;
  const request = { ...content.request, configuration_digest: digest };
  await saveRegistration(systemFiles, robot.state_directory, { ...content, files, request });
  await robot.run(["look"]);
  expect(sent(scene)).toEqual(["POST /v1/robots/setup"]);
});

test("look: a registration is pending → no file is read again for an hour, unless its stat changes", async () => {
  await using scene = await createScene();
  const { robot, service, proxy } = scene;
  const lookInVain = async () => {
    proxy.inject({ kind: "answer", status: 503 });
    await robot.run(["look"]);
    return (await remembered(robot)).kept ?? null;
  };
  // Not before it is clear that no change hides behind the same timestamps.
  const kept = await eventually(async () => (await lookInVain()) ?? undefined, "files that are kept");
  // Another hash than that of what is in the files.
  const files = kept.files.map((file) => ({ ...file, sha256: sha256Hex(file.path) }));
  await remember(robot, { kept: { ...kept, files } });
  expect(await lookInVain()).toEqual({ ...kept, files });
  await robot.run(["look"]);
  const digest = `sha256:${sha256Hex(files.map(({ sha256 }) => `${sha256}\n`).join(""))}`;
  expect(storedRobots(service)).toEqual([{ name: "arm-7", configuration_digest: digest }]);
  expect((await remembered(robot)).kept).toBeUndefined();

  const [left = ""] = robot.paths;
  await writeAtOnce(left, "offset: 6\n");
  const later = await eventually(async () => (await lookInVain()) ?? undefined, "files that are kept");
  await remember(robot, { kept: { files, until_ms: systemClock.monotonicMs() - 1 } });
  expect((await lookInVain())?.files).toEqual(later.files);
  await writeAtOnce(left, "offset: 7\n");
  await robot.run(["look"]);
  expect(storedRobots(service)).toEqual([{ name: "arm-7", configuration_digest: await digestOfFiles(...robot.paths) }]);
});

test("look: enrolled robot → one heartbeat each, within the window of the service, and nothing is written", async () => {
  await using scene = await createScene(ENROLLED);
  const { robot } = scene;
  await enrollAndStop(scene, new PushedClock());
  await robot.run(["look"]);
  const before = await traces(robot);
  const count = sent(scene).length;
  const { last_seen_at: seenAt } = await installation(scene);
  expect(await robot.run(["look"])).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(sent(scene).slice(count)).toEqual(["PUT /v1/robot-agent/heartbeat"]);
  expect(await traces(robot)).toEqual(before);
  const { last_seen_at: seenAgainAt, readiness } = await installation(scene);
  expect([seenAgainAt === seenAt, readiness]).toEqual([false, "ready"]);
});

test("look: robot that enrolls → shows a code once; approved → enrolled and registered by the next looks", async () => {
  await using scene = await createScene(ENROLLED);
  const { robot } = scene;
  expect((await robot.run(["look"])).code).toBe(0);
  const { user_code: code = "" } = await readIdentityFile(scene, "enrolment");
  expect((await robot.run(["look"])).code).toBe(0);
  expect(await readIdentityFile(scene, "enrolment")).toMatchObject({ user_code: code });
  await approve(scene, code);
  await robot.run(["look"]);
  await robot.run(["look"]);
  expect(await savedRegistration(robot)).toMatchObject({ request: { name: "arm-7" } });
  expect((await readIdentityFile(scene, "credential"))["robot_name"]).toBe("arm-7");
});

test("look: renewal is due → a new credential on the disk, and the one after is not renewed again", async () => {
  const serviceClock = new ServiceClock();
  await using scene = await createScene(ENROLLED, { clock: serviceClock });
  const { robot } = scene;
  await enrollAndStop(scene, new PushedClock());
  serviceClock.aheadMs = 17 * 60 * 60_000;
  await robot.run(["look"]);
  expect(await installation(scene)).toMatchObject({ generation: 2, state: "active" });
  await robot.run(["look"]);
  expect(await installation(scene)).toMatchObject({ generation: 2, state: "active" });
});

test("look: heartbeat without an answer → one warning for all looks, and status tells; accepted again → told once", async () => {
  await using scene = await createScene(ENROLLED);
  const { robot, proxy } = scene;
  await enrollAndStop(scene, new PushedClock());
  await robot.run(["look"]);
  const said: string[] = [];
  for (const fault of [503, 503, null, null]) {
    if (fault !== null) proxy.inject({ kind: "answer", status: fault });
    said.push(...(await eventsOf(robot)));
    if (fault !== null)
      expect(await statusOf(robot)).toMatchObject({
        state: "registered",
        timer: { heartbeat_problem: expect.stringContaining("503") },
      });
  }
  expect(said).toEqual(["heartbeat-failed", "heartbeats-accepted-again"]);
  expect(await statusOf(robot)).toMatchObject({ timer: { heartbeat_problem: null } });
});

test("status between looks: registered; changed; refused; held; released; and when it looked", async () => {
  await using scene = await createScene();
  const { robot, proxy } = scene;
  expect(await statusOf(robot)).toMatchObject({ state: "registering", registration: null });
  await robot.run(["look"]);
  const status = await statusOf(robot);
  expect(status).toMatchObject({ state: "registered", healthy: true, timer: { last_result: "success" } });
  const { timer } = status as StatusDocument;
  expect(Date.parse(timer?.next_look_at ?? "") - Date.parse(timer?.last_look_at ?? "")).toBe(60_000);
  const [left = ""] = robot.paths;
  await writeAtOnce(left, "offset: 5\n");
  expect(await statusOf(robot)).toMatchObject({ state: "registering", changes: { files: [{ path: left }] } });
  proxy.inject({ kind: "answer", status: 401 });
  await robot.run(["look"]);
  expect(await statusOf(robot)).toMatchObject({ state: "unauthorized", failure: { reason: "http-401" } });
  // Members of the agent's group may write beside it.
  const ofOther = {
    ...systemFiles,
    linkStat: async (path: string) => ({ ...(await systemFiles.linkStat(path)), userId: 4321 }),
  };
  expect(await statusOf(robot, ofOther)).toMatchObject({ state: "registering", failure: null });
  await robot.run(["hold", "--for", "10m", "--reason", "both arms"]);
  await robot.run(["look"]);
  expect(await statusOf(robot)).toMatchObject({ state: "held", hold: { reason: "both arms" } });
  await robot.run(["release"]);
  expect(await statusOf(robot)).toMatchObject({ state: "registering", hold: null });
  await robot.run(["look"]);
  expect(await statusOf(robot)).toMatchObject({ state: "registered", healthy: true });
});
