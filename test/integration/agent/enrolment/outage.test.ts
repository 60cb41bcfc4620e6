/** After an outage, pending requests are sent soon, whatever their backoff. */
import { appendFile } from "node:fs/promises";

import { expect, test } from "vitest";

import { PushedClock } from "../../../support/pushed-clock.ts";
import { createScene, expectOneRobot } from "../../../support/service/scene.ts";
import { advanceUntil, approve, enroll, ENROLLED, shownCode } from "./scene.ts";

test("a file changes during an outage → registered within 30 s of the first heartbeat, despite a longer backoff", async () => {
  await using scene = await createScene(ENROLLED);
  const clock = new PushedClock();
  await using daemon = await scene.robot.start({}, clock);
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
  await advanceUntil(daemon, clock, isBack);
  // The backoff of the registration had more than a minute left.
  await daemon.until(({ failure }) => failure === null || Date.parse(failure.next_attempt_at) - Date.now() <= 30_000);
  await advanceUntil(daemon, clock, ({ state }) => state === "registered");
  await expectOneRobot(scene, daemon);
});

test("a portal answers registration and heartbeat with 401 → no doubt about the credential", async () => {
  await using scene = await createScene(ENROLLED);
  const clock = new PushedClock();
  await using daemon = await scene.robot.start({}, clock);
  await enroll(scene, daemon, clock);
  await advanceUntil(daemon, clock, ({ identity }) => (identity?.last_heartbeat_at ?? null) !== null);
  const before = scene.proxy.requests.length;
  const page = { status: 401, headers: { "content-type": "text/html" }, body: "<html>Log in" };
  scene.proxy.inject({ kind: "answer", ...page }, 1000);
  await appendFile(scene.robot.paths[0] ?? "", "\n# edited\n");
  await advanceUntil(
    daemon,
    clock,
    ({ state, identity }) => state === "unreachable" && (identity?.problem ?? null) !== null,
  );
  const paths = new Set(scene.proxy.requests.slice(before).map(({ path }) => path));
  expect(paths).toEqual(new Set(["/v1/robots/setup", "/v1/robot-agent/heartbeat"]));
});

test("a proxy puts a poll off for an hour → the shown code can still be approved before it ends", async () => {
  await using scene = await createScene(ENROLLED);
  const clock = new PushedClock();
  await using daemon = await scene.robot.start({}, clock);
  const code = await shownCode(daemon);
  scene.proxy.inject({ kind: "answer", status: 503, headers: { "retry-after": "3600" } });
  await advanceUntil(daemon, clock, ({ identity }) => (identity?.problem ?? null) !== null);
  const refusedMs = clock.monotonicMs();
  await approve(scene, code);
  await advanceUntil(daemon, clock, ({ identity }) => identity?.state === "enrolled");
  expect(clock.monotonicMs() - refusedMs).toBeLessThan(5 * 60_000);
});
