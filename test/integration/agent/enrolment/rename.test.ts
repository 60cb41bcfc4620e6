/** An operator renames a robot: its computer learns the name by itself. */
import { appendFile } from "node:fs/promises";

import { expect, test } from "vitest";

import { PushedClock } from "../../../support/pushed-clock.ts";
import { createScene, expectOneRobot, savedRegistration, type Scene } from "../../../support/service/scene.ts";
import { approve, enrol, enrolAndStop, ENROLLED, inTime, kept } from "./scene.ts";

async function rename({ service }: Scene, from: string, to: string): Promise<void> {
  expect((await service.send("PATCH", `/v1/robots/${from}`, { name: to })).status).toBe(200);
}

test("rename: the robot that is refused under its old name registers with the new one, and says so once", async () => {
  await using scene = await createScene(ENROLLED);
  const clock = new PushedClock();
  await using daemon = await scene.robot.start({}, clock);
  const before = await enrol(scene, daemon, clock);
  await daemon.until(({ identity }) => (identity?.last_heartbeat_at ?? null) !== null);
  await rename(scene, "arm-7", "picker-2");
  await appendFile(scene.robot.paths[0] ?? "", "\n# edited\n");
  await inTime(daemon, clock, ({ robot }) => robot.view?.name === "picker-2");
  const after = await expectOneRobot(scene, daemon, "picker-2");
  expect(after.robot).toMatchObject({ name: "picker-2", view: { id: before.robot.view?.id } });
  expect(await kept(scene, "credential")).toMatchObject({ robot_name: "picker-2" });
  expect(daemon.logged("robot-renamed")).toEqual([expect.objectContaining({ from: "arm-7", to: "picker-2" })]);
});

test("rename: a robot that was off registers with the new name when it is back, without a refusal", async () => {
  await using scene = await createScene(ENROLLED);
  const clock = new PushedClock();
  await enrolAndStop(scene, clock);
  await rename(scene, "arm-7", "picker-2");
  // Its old name is another robot's by now.
  await scene.service.send("POST", "/v1/robots/setup", {
    name: "arm-7",
    robot_type_id: "so101",
    region: "eu-central-1",
    configuration_digest: `sha256:${"0".repeat(64)}`,
  });
  const sent = scene.proxy.requests.length;
  await using daemon = await scene.robot.start({}, clock);
  await inTime(daemon, clock, ({ robot, state }) => robot.view?.name === "picker-2" && state === "registered");
  expect(await savedRegistration(scene.robot)).toMatchObject({ request: { name: "picker-2" } });
  const setups = scene.proxy.requests.slice(sent).filter(({ path }) => path === "/v1/robots/setup");
  expect(setups.map(({ body }) => JSON.parse(body).name)).toEqual(["picker-2"]);
});

test("rename: --setup without the agent registers with the new name, and says so", async () => {
  await using scene = await createScene(ENROLLED);
  const { robot, proxy } = scene;
  const { user_code: code } = JSON.parse((await robot.run(["enroll", "--no-wait", "--json"])).stdout);
  await approve(scene, code);
  await robot.run(["enroll"]);
  await rename(scene, "arm-7", "picker-2");
  const renamed = await robot.run(["--setup"]);
  expect([renamed.code, renamed.stderr]).toEqual([0, "An operator renamed this robot.\n"]);
  expect(renamed.stdout).toContain("Registered picker-2 as");
  expect(await kept(scene, "credential")).toMatchObject({ robot_name: "picker-2" });
  const again = await robot.run(["--setup"]);
  expect([again.code, again.stderr]).toEqual([0, ""]);
  const names = proxy.requests
    .filter(({ path }) => path === "/v1/robots/setup")
    .map(({ body }) => JSON.parse(body).name);
  expect(names).toEqual(["arm-7", "picker-2", "picker-2"]);
});
