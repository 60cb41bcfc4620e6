/** An operator renames a robot: its agent learns the new name from the service. */
import { appendFile, rename as moveFile, rm } from "node:fs/promises";

import { expect, test } from "vitest";

import { PushedClock } from "../../../support/pushed-clock.ts";
import { replaceIn } from "../../../support/robot/robot.ts";
import { createScene, expectOneRobot, savedRegistration, type Scene } from "../../../support/service/scene.ts";
import {
  advanceUntil,
  approve,
  beginEnrolment,
  enroll,
  ENROLLED,
  enrollAndStop,
  hasBeaten,
  openScene,
  readIdentityFile,
  type ServiceClock,
  shownCode,
  startScene,
} from "./scene.ts";

const DAY_MS = 24 * 60 * 60_000;

async function rename({ service }: Scene, from: string, to: string): Promise<void> {
  expect((await service.send("PATCH", `/v1/robots/${from}`, { name: to })).status).toBe(200);
}

test("rename: refused under the old name → registers with the new one, and logs it once", async () => {
  await using scene = await startScene();
  const { clock, daemon, until } = scene;
  const before = await enroll(scene, daemon, clock);
  await daemon.until(hasBeaten);
  await rename(scene, "arm-7", "picker-2");
  await appendFile(scene.robot.paths[0] ?? "", "\n# edited\n");
  await until(({ robot }) => robot.view?.name === "picker-2");
  const after = await expectOneRobot(scene, daemon, "picker-2");
  expect(after.robot).toMatchObject({ name: "picker-2", view: { id: before.robot.view?.id } });
  expect(await readIdentityFile(scene, "credential")).toMatchObject({ robot_name: "picker-2" });
  expect(daemon.logged("robot-renamed")).toEqual([expect.objectContaining({ from: "arm-7", to: "picker-2" })]);
});

test("rename: renamed while off → registers with the new name, without a refusal", async () => {
  await using scene = await openScene();
  const { clock } = scene;
  await enrollAndStop(scene, clock);
  await rename(scene, "arm-7", "picker-2");
  // Another robot has the old name now.
  await scene.service.send("POST", "/v1/robots/setup", {
    name: "arm-7",
    robot_type_id: "so101",
    region: "eu-central-1",
    configuration_digest: `sha256:${"0".repeat(64)}`,
  });
  const requestCount = scene.proxy.requests.length;
  await using daemon = await scene.robot.start({}, clock);
  await advanceUntil(daemon, clock, ({ robot, state }) => robot.view?.name === "picker-2" && state === "registered");
  expect(await savedRegistration(scene.robot)).toMatchObject({ request: { name: "picker-2" } });
  const setups = scene.proxy.requests.slice(requestCount).filter(({ path }) => path === "/v1/robots/setup");
  expect(setups.map(({ body }) => JSON.parse(body).name)).toEqual(["picker-2"]);
});

test("rename: --setup without the agent → registers with the new name, and says so", async () => {
  await using scene = await createScene(ENROLLED);
  const { robot, proxy } = scene;
  const { user_code: code } = await beginEnrolment(scene);
  await approve(scene, code);
  await robot.run(["enroll"]);
  await rename(scene, "arm-7", "picker-2");
  const renamed = await robot.run(["--setup"]);
  expect([renamed.code, renamed.stderr]).toEqual([0, "An operator renamed this robot.\n"]);
  expect(renamed.stdout).toContain("Registered picker-2 as");
  expect(await readIdentityFile(scene, "credential")).toMatchObject({ robot_name: "picker-2" });
  const again = await robot.run(["--setup"]);
  expect([again.code, again.stderr]).toEqual([0, ""]);
  const names = proxy.requests
    .filter(({ path }) => path === "/v1/robots/setup")
    .map(({ body }) => JSON.parse(body).name);
  // The first is of the command enroll, the second is refused.
  expect(names).toEqual(["arm-7", "arm-7", "picker-2", "picker-2"]);
});

/** Enrolls as arm-7, is renamed, learns it, and is off until its credential can no longer be renewed. */
async function renamedAndLapsed(scene: Scene, clock: PushedClock, serviceClock: ServiceClock): Promise<string> {
  await using daemon = await scene.robot.start({}, clock);
  const { robot } = await enroll(scene, daemon, clock);
  await rename(scene, "arm-7", "picker-2");
  await appendFile(scene.robot.paths[0] ?? "", "\n# edited\n");
  await advanceUntil(daemon, clock, ({ robot: { view } }) => view?.name === "picker-2");
  await daemon.stop();
  serviceClock.aheadMs = 100 * DAY_MS;
  return robot.view?.id ?? "";
}

/** The name for which `enroll` without the agent asks. */
async function requestedName({ robot, proxy }: Scene): Promise<string> {
  expect((await robot.run(["enroll", "--no-wait"])).code).toBe(0);
  const start = proxy.requests.findLast(({ path }) => path === "/v1/robot-agent/enrollment");
  return JSON.parse(start?.body ?? "").requested_name;
}

test("rename: enrolled again after its credential lapsed → asks for the new name, and stays the same robot", async () => {
  await using scene = await openScene();
  const { robot, clock, serviceClock } = scene;
  const id = await renamedAndLapsed(scene, clock, serviceClock);
  {
    await using daemon = await robot.start({}, clock);
    await advanceUntil(daemon, clock, ({ state }) => state === "lapsed");
    expect((await robot.run(["enroll", "--no-wait"])).code).toBe(0);
    expect((await daemon.until(({ state }) => state !== "lapsed")).state).toBe("waiting-for-approval");
    await daemon.stop();
  }
  await using restarted = await robot.start({}, clock);
  const code = await shownCode(restarted);
  expect((await restarted.until(({ state }) => state !== "starting")).state).toBe("waiting-for-approval");
  // Also with the next key, after a denial.
  expect((await scene.service.send("POST", "/v1/robots/deny", { user_code: code })).status).toBe(200);
  await advanceUntil(restarted, clock, ({ state }) => state === "unenrolled");
  expect((await robot.run(["enroll", "--no-wait"])).code).toBe(0);
  await approve(scene, await shownCode(restarted, code));
  const after = await advanceUntil(restarted, clock, ({ state }) => state === "registered");
  expect(after.robot.view).toMatchObject({ id, name: "picker-2" });
  await expectOneRobot(scene, restarted, "picker-2");
});

test("rename: killed between moving the refused key away and making the next one → asks for the new name", async () => {
  await using scene = await openScene();
  const { robot, serviceClock } = scene;
  await renamedAndLapsed(scene, new PushedClock(), serviceClock);
  const keyPath = robot.path("state/identity-key.json");
  await moveFile(keyPath, `${keyPath}.old`);
  expect(await requestedName(scene)).toBe("picker-2");
});

test("rename: enrolled again by the command alone, under a name configured since → asks for that name", async () => {
  await using scene = await openScene();
  const { robot, serviceClock } = scene;
  await renamedAndLapsed(scene, new PushedClock(), serviceClock);
  expect(await requestedName(scene)).toBe("picker-2");
  expect((await robot.run(["status"])).stderr).not.toContain("rebind");
  await replaceIn(robot.config_path, "name: arm-7", "name: arm-8");
  await rm(robot.path("state/identity-enrolment.json"));
  expect(await requestedName(scene)).toBe("arm-8");
});
