/** `look`, which the timer runs each minute where no agent runs in between. */
import { chmod, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";

import { expect, test } from "vitest";

import { PushedClock } from "../../support/pushed-clock.ts";
import { digestOfFiles } from "../../support/robot/digest.ts";
import { type Robot, writeAtOnce } from "../../support/robot/robot.ts";
import { createScene, savedRegistration, type Scene, storedRobots } from "../../support/service/scene.ts";
import { approve, enrollAndStop, ENROLLED, installation, readIdentityFile, ServiceClock } from "./enrolment/scene.ts";

/** A name whose minute of the daily question is not near, so that no test meets it by chance. */
function quietName(): string {
  const minute = Math.floor(Date.now() / 60_000);
  const names = Array.from({ length: 10 }, (_, index) => `arm-${index}`);
  return names.find((name) => (crc32(name) - minute + 2 * 1440) % 1440 > 30) ?? "";
}

const quiet = (service = "") => createScene({ name: quietName(), ...(service === "" ? {} : { service }) });

/** Everything that a write would change below the robot's folder. */
async function traces({ folder }: Robot): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true });
  const lines = names.map(async (name) => {
    const { ino, mtimeMs, ctimeMs, size } = await stat(join(folder, name));
    return [name, ino, mtimeMs, ctimeMs, size].join(" ");
  });
  return (await Promise.all(lines)).toSorted();
}

const sent = ({ proxy }: Scene) => proxy.requests.map(({ method, path }) => `${method} ${path}`);

test("look: new robot → registered; nothing changed → sends nothing, writes nothing, says nothing", async () => {
  await using scene = await quiet();
  const { robot, service } = scene;
  const first = await robot.run(["look"]);
  expect(first.code).toBe(0);
  expect(storedRobots(service)).toEqual([{ name: quietName(), configuration_digest: await robot.digest() }]);
  expect(sent(scene)).toEqual(["POST /v1/robots/setup"]);

  const before = await traces(robot);
  expect(await robot.run(["look"])).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(await traces(robot)).toEqual(before);
  expect(sent(scene)).toHaveLength(1);
});

test("look: a changed file → registered once; written again with the same content → nothing", async () => {
  await using scene = await quiet();
  const { robot, service } = scene;
  await robot.run(["look"]);
  const [left = ""] = robot.paths;
  await writeAtOnce(left, "offset: 3\n");
  expect((await robot.run(["look"])).code).toBe(0);
  expect(storedRobots(service)).toEqual([
    { name: quietName(), configuration_digest: await digestOfFiles(...robot.paths) },
  ]);
  await writeAtOnce(left, "offset: 3\n");
  expect((await robot.run(["look"])).code).toBe(0);
  expect(sent(scene).filter((request) => request === "POST /v1/robots/setup")).toHaveLength(2);
});

test("look: held, or a file is missing → nothing is sent; then the change is", async () => {
  await using scene = await quiet();
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
  await using scene = await quiet();
  const { robot, proxy } = scene;
  proxy.inject({ kind: "answer", status: 503 });
  expect((await robot.run(["look"])).code).toBe(0);
  proxy.inject({ kind: "answer", status: 401 });
  await robot.run(["look"]);
  expect(sent(scene)).toHaveLength(2);
  const memory = await stat(join(robot.runtime_directory, "look.json"));
  expect(memory.mode & 0o777).toBe(0o600);
  await robot.run(["look"]);
  expect(sent(scene)).toHaveLength(2);
  expect((await stat(join(robot.runtime_directory, "look.json"))).ino).toBe(memory.ino);
  // The same key, written again: it might be another.
  await chmod(robot.keyPath, 0o400);
  await robot.run(["look"]);
  expect(sent(scene)).toHaveLength(3);
  expect(await readdir(robot.runtime_directory)).not.toContain("look.json");
});

test("look: beside a running agent → leaves everything to it", async () => {
  await using scene = await quiet();
  const { robot } = scene;
  await using daemon = await robot.start();
  await daemon.until(({ state }) => state === "registered");
  expect((await robot.run(["look"])).code).toBe(0);
  expect(sent(scene)).toHaveLength(1);
});

test("look: in the minute of the robot's own → asks the service; what it lost is registered again", async () => {
  // The minute may pass meanwhile.
  for (const _ of [1, 2]) {
    const minute = Math.floor(Date.now() / 60_000) % 1440;
    let name = "";
    for (let index = 0; crc32(name) % 1440 !== minute; index += 1) name = `arm-${index}`;
    await using scene = await createScene({ name });
    await scene.robot.run(["--setup"]);
    await scene.robot.run(["look"]);
    if (Math.floor(Date.now() / 60_000) % 1440 !== minute) continue;
    expect(sent(scene)).toEqual(["POST /v1/robots/setup", `GET /v1/robots/${name}/registration`]);
    return;
  }
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
