/** An operator renames a robot: its agent learns the new name from the service. */
import { appendFile } from "node:fs/promises";

import { expect, test } from "vitest";

import { PushedClock } from "../../../support/pushed-clock.ts";
import { createScene, expectOneRobot, savedRegistration, type Scene } from "../../../support/service/scene.ts";
import { approve, enroll, enrollAndStop, ENROLLED, advanceUntil, readIdentityFile } from "./scene.ts";

async function rename({ service }: Scene, from: string, to: string): Promise<void> {
  expect((await service.send("PATCH", `/v1/robots/${from}`, { name: to })).status).toBe(200);
}

test("rename: refused under the old name → registers with the new one, and logs it once", async () => {
  await using scene = await createScene(ENROLLED);
  const clock = new PushedClock();
  await using daemon = await scene.robot.start({}, clock);
  const before = await enroll(scene, daemon, clock);
  await daemon.until(({ identity }) => (identity?.last_heartbeat_at ?? null) !== null);
  await rename(scene, "arm-7", "picker-2");
  await appendFile(scene.robot.paths[0] ?? "", "\n# edited\n");
  await advanceUntil(daemon, clock, ({ robot }) => robot.view?.name === "picker-2");
  const after = await expectOneRobot(scene, daemon, "picker-2");
  expect(after.robot).toMatchObject({ name: "picker-2", view: { id: before.robot.view?.id } });
  expect(await readIdentityFile(scene, "credential")).toMatchObject({ robot_name: "picker-2" });
  expect(daemon.logged("robot-renamed")).toEqual([expect.objectContaining({ from: "arm-7", to: "picker-2" })]);
});

test("rename: renamed while off → registers with the new name, without a refusal", async () => {
  await using scene = await createScene(ENROLLED);
  const clock = new PushedClock();
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
  const { user_code: code } = JSON.parse((await robot.run(["enroll", "--no-wait", "--json"])).stdout);
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
  expect(names).toEqual(["arm-7", "picker-2", "picker-2"]);
});
