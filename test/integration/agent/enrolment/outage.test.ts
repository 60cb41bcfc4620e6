/** After an outage, pending requests are sent soon, whatever their backoff. */
import { appendFile } from "node:fs/promises";

import { expect, test } from "vitest";

import { expectOneRobot } from "../../../support/service/scene.ts";
import { approve, enroll, hasBeaten, shownCode, startScene } from "./scene.ts";

test("a file changes during an outage → registered within 30 s of the first heartbeat, despite a longer backoff", async () => {
  await using scene = await startScene();
  const { clock, daemon, until } = scene;
  await enroll(scene, daemon, clock);
  await scene.proxy.refuse();
  await appendFile(scene.robot.paths[0] ?? "", "\n# edited\n");
  // Heartbeats are at most two minutes apart, so one precedes the retry of the registration.
  await daemon.until(({ failure }) => {
    if (failure !== null && Date.parse(failure.next_attempt_at) - Date.now() > 200_000) return true;
    clock.push(30_000);
    return false;
  });
  await daemon.untilLogged("heartbeat-failed");
  await scene.proxy.listen();
  const isBack = () => daemon.logged("heartbeats-accepted-again").length > 0;
  await until(isBack);
  // The backoff of the registration had more than a minute left.
  await daemon.until(({ failure }) => failure === null || Date.parse(failure.next_attempt_at) - Date.now() <= 30_000);
  await until(({ state }) => state === "registered");
  await expectOneRobot(scene, daemon);
});

test("a portal answers registration and heartbeat with 401 → no doubt about the credential", async () => {
  await using scene = await startScene();
  const { clock, daemon, until } = scene;
  await enroll(scene, daemon, clock);
  await until(hasBeaten);
  const before = scene.proxy.requests.length;
  const page = { status: 401, headers: { "content-type": "text/html" }, body: "<html>Log in" };
  scene.proxy.inject({ kind: "answer", ...page }, 1000);
  await appendFile(scene.robot.paths[0] ?? "", "\n# edited\n");
  await until(({ state, identity }) => state === "unreachable" && (identity?.problem ?? null) !== null);
  const paths = new Set(scene.proxy.requests.slice(before).map(({ path }) => path));
  expect(paths).toEqual(new Set(["/v1/robots/setup", "/v1/robot-agent/heartbeat"]));
});

test("a proxy puts a poll off for an hour → the shown code can still be approved before it ends", async () => {
  await using scene = await startScene();
  const { clock, daemon, until } = scene;
  const code = await shownCode(daemon);
  scene.proxy.inject({ kind: "answer", status: 503, headers: { "retry-after": "3600" } });
  await until(({ identity }) => (identity?.problem ?? null) !== null);
  const refusedMs = clock.monotonicMs();
  await approve(scene, code);
  await until(({ identity }) => identity?.state === "enrolled");
  expect(clock.monotonicMs() - refusedMs).toBeLessThan(5 * 60_000);
});
