/** What changes while a robot waits for approval. */

import { expect, test } from "vitest";

import { replaceIn } from "../../../support/robot/robot.ts";
import { createScene } from "../../../support/service/scene.ts";
import {
  advanceUntil,
  approve,
  beginEnrolment,
  ENROLLED,
  openScene,
  putEnrolmentKey,
  SETUP,
  shownCode,
  startScene,
} from "./scene.ts";

const EDITS = [
  { what: "name", from: "name: arm-7", to: "name: arm-8", waiting: { requested_name: "arm-8" } },
  { what: "region", from: "eu-central-1", to: "eu-west-1", waiting: { region: "eu-west-1" } },
  { what: "site", from: "hall-2", to: "hall-3", waiting: { site: "hall-3" } },
  { what: "labels", from: "{line: a}", to: "{line: b}", waiting: { labels: { line: "b" } } },
] as const;

test.for(EDITS)(
  "$what changed while waiting → a new request with a new code; the old code is worth nothing",
  async ({ from, to, waiting }) => {
    await using scene = await startScene();
    const { robot, service, daemon, until } = scene;
    const old = await shownCode(daemon);
    await replaceIn(robot.config_path, from, to);
    const { identity } = await until((status) => {
      const code = status.identity?.user_code ?? null;
      return code !== null && code !== old;
    });
    const code = identity?.user_code ?? "";
    expect((await service.send("POST", "/v1/robots/approve", { user_code: old })).status).toBe(404);
    expect(await (await service.send("GET", `/v1/robot-enrollments/${code}`)).json()).toMatchObject(waiting);
    await approve(scene, code);
    await until(({ state }) => state === "registered");
  },
);

test("approved under a name that was changed since → the robot that has the name keeps its computer", async () => {
  await using scene = await openScene();
  const { robot, service, clock } = scene;
  const first = await robot.start({}, clock);
  const old = await shownCode(first);
  await first.stop();
  await service.send("POST", "/v1/robots/setup", SETUP);
  const before = await (await service.send("GET", "/v1/robots/arm-7")).json();
  await approve(scene, old);
  await replaceIn(robot.config_path, "name: arm-7", "name: arm-8");
  await using second = await robot.start({}, clock);
  await approve(scene, await shownCode(second, old));
  const { robot: registered } = await advanceUntil(second, clock, ({ state }) => state === "registered");
  expect(registered.view).toMatchObject({ name: "arm-8" });
  expect(await (await service.send("GET", "/v1/robots/arm-7")).json()).toEqual(before);
});

test("`enroll` without the agent, and its configuration is edited → shows the new code", async () => {
  await using scene = await createScene(ENROLLED);
  const { robot } = scene;
  const { user_code: old } = await beginEnrolment(scene);
  await replaceIn(robot.config_path, "name: arm-7", "name: arm-8");
  const { user_code: code } = await beginEnrolment(scene);
  expect(code).not.toBe(old);
  await approve(scene, code);
  expect((await robot.run(["enroll"])).stdout).toContain("Enrolled as arm-8");
});

test("a key for enrolments, and the name exists → the robot says why it waits; renamed → enrolls at once", async () => {
  await using scene = await openScene();
  const { robot, service, clock } = scene;
  await service.send("POST", "/v1/robots/setup", SETUP);
  await putEnrolmentKey(scene);
  await using daemon = await robot.start({}, clock);
  await shownCode(daemon);
  const because = "a robot named arm-7 exists already";
  const told = await daemon.until(({ summary }) => summary.includes(because));
  expect(told.identity?.waits_because).toContain("for another robot change robot.name");
  expect((await robot.run(["status"])).stdout).toContain(because);
  await replaceIn(robot.config_path, "name: arm-7", "name: arm-8");
  const registered = await advanceUntil(daemon, clock, ({ state }) => state === "registered");
  expect(registered.robot.view?.name).toBe("arm-8");
  expect(registered.identity?.waits_because).toBeNull();
});
