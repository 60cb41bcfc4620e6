/** `doctor` on a robot that is not enrolled yet. */
import { writeFile } from "node:fs/promises";

import { expect, test } from "vitest";

import { PushedClock } from "../../../support/pushed-clock.ts";
import { createScene, createSceneWithRegions } from "../../../support/service/scene.ts";
import { diagnose, type Diagnosis } from "../commands/diagnose.ts";
import { ENROLLED, enrollAndStop, openScene, shownCode } from "./scene.ts";

/** What the command cannot refer to: itself, and what it has asked already. */
function expectNoReference({ checks }: Diagnosis): void {
  for (const { what, remedy } of checks) expect(`${what} ${remedy}`).not.toMatch(/ (?:doctor|status)(?: |$)/);
}

test("doctor before enrolment, service reached → only the enrolment is left to do", async () => {
  await using scene = await createScene(ENROLLED);
  const diagnosis = await diagnose(scene.robot);
  expect(diagnosis).toMatchObject({ code: 5, failed: ["service"] });
  expect(diagnosis.check("key")).toMatchObject({ status: "warn" });
  expect(diagnosis.check("service")).toMatchObject({
    what: "this robot is not enrolled yet",
    remedy: expect.stringMatching(/^enroll it: sudo .* enroll$/),
  });
  expectNoReference(diagnosis);
});

test("doctor before enrolment, service not reached → that is the first failure, and the only one", async () => {
  await using scene = await createScene(ENROLLED);
  await scene.proxy.refuse();
  for (const isRunning of [false, true]) {
    await using daemon = isRunning ? await scene.robot.start() : null;
    await daemon?.until(({ identity }) => identity?.problem_state === "unreachable");
    const diagnosis = await diagnose(scene.robot);
    expect(diagnosis).toMatchObject({ code: 4, failed: ["tcp"] });
    expect(diagnosis.skipped).toContain("service");
    expectNoReference(diagnosis);
  }
});

test("doctor while a code waits → who approves it, and how", async () => {
  await using scene = await createScene(ENROLLED);
  await using daemon = await scene.robot.start();
  const code = await shownCode(daemon);
  const diagnosis = await diagnose(scene.robot);
  expect(diagnosis).toMatchObject({ code: 5, failed: ["service"] });
  expect(diagnosis.check("service")).toMatchObject({
    what: expect.stringContaining(`waits for approval of the code ${code}`),
    remedy: expect.stringContaining(`robots approve ${code}`),
  });
  expectNoReference(diagnosis);
});

test("a key for enrolments that the service does not know → status and doctor name the key and its file", async () => {
  await using scene = await createScene();
  const { robot, proxy } = scene;
  const path = robot.path("enrolment-key");
  await writeFile(path, "sk_live_0123456789abcdefghijklmnop\n", { mode: 0o600 });
  await writeFile(
    robot.config_path,
    `service: {url: "${proxy.url}", identity: enrolled, enrolment_key_file: ${path}}\nrobot: {name: arm-7, region: eu-central-1}\nmanifest: ${robot.manifestPath}\n`,
  );
  await using daemon = await robot.start();
  await daemon.until(
    ({ state, identity }) => state === "waiting-for-approval" && identity?.problem_state === "unauthorized",
  );
  const { stderr } = await robot.run(["status"]);
  expect(stderr).toContain(`HTTP 401: Invalid API key (the key for enrolments in ${path})`);
  expect(stderr).toContain("put a valid key there");
  const diagnosis = await diagnose(robot);
  expect(diagnosis).toMatchObject({ code: 5, failed: ["service"] });
  expect(diagnosis.check("service")).toMatchObject({
    what: expect.stringContaining(`(the key for enrolments in ${path})`),
    remedy: expect.stringContaining("put a valid key there"),
  });
  expectNoReference(diagnosis);
});

test("an ended credential → doctor says what to do itself", async () => {
  await using scene = await openScene();
  const { clock } = scene;
  await enrollAndStop(scene, clock);
  expect((await scene.service.send("DELETE", "/v1/robots/arm-7")).status).toBe(200);
  await using daemon = await scene.robot.start({}, clock);
  await daemon.until(({ state }) => state === "unenrolled");
  const diagnosis = await diagnose(scene.robot);
  expect(diagnosis.check("key")).toMatchObject({ status: "fail", remedy: expect.stringContaining("enroll") });
  expectNoReference(diagnosis);
});

test.each([
  ["not enrolled yet", false],
  ["enrolled", true],
])("region: wrong, robot %s → doctor names it, and the regions there are", async (_what, isEnrolled) => {
  await using scene = await createSceneWithRegions(["eu-central-2", "us-west-2"], ENROLLED);
  if (isEnrolled) await enrollAndStop(scene, new PushedClock());
  const { check } = await diagnose(scene.robot);
  expect(check("service")).toMatchObject({
    status: isEnrolled ? "warn" : "fail",
    what: expect.stringContaining("no endpoint in the region eu-central-1 (did you mean eu-central-2?)"),
    remedy: expect.stringContaining("write one of these as robot.region: eu-central-2, us-west-2"),
  });
});

test("init: a wrong region, before there is a key → named", async () => {
  await using scene = await createSceneWithRegions(["eu-central-2"]);
  const { robot, proxy } = scene;
  const answers = [
    "--region",
    "eu-central-1",
    "--type",
    "yam.bimanual-joint-position.v1",
    "--file",
    robot.manifestPath,
  ];
  const { stdout } = await robot.run(["init", "--url", proxy.url, "--dir", robot.path("etc"), ...answers]);
  expect(stdout).toContain("the service has no endpoint in the region eu-central-1 (did you mean eu-central-2?)");
});
